/* The limit for real coordinates: slice sampling and a whole round of tempering, written by hand for the normal model.

   What sterna must ask at run time (which sort of coordinate, which reference, where the support ends, which
   likelihood) is known here when compiling: that is the advantage that the ratios measure. */
#include <stddef.h>
#include <string.h>

#include "stream.h"

/* The dimension is a compile-time constant, as in the entry point that sterna compiles for a target. */
#ifndef DIMENSION
#error "compile with -DDIMENSION=..."
#endif

#define MAX_SHRINKS 2000
#define REFRESH_EVERY 64

/* The default precision is 5: log L = -(5 - 1) / 2 |x|^2. */
static const double half = 2.0;
static const double constant = -0.9189385332046727; /* -log(2 pi) / 2, rounded as in sterna */

enum { LOG_REFERENCE, LOG_LIKELIHOOD, EVALUATIONS, GRADIENTS, LARGEST_REFERENCE, LARGEST_LIKELIHOOD, N_LOGS };

struct point {
    double *x;
    double log_reference, log_likelihood;
    int64_t evaluations;
};

struct density {
    double annealed, reference, likelihood;
};

struct interval {
    double left, right, at_left, at_right;
};

static inline double log_likelihood(const double *x)
{
    double total = 0.0;
    for (int i = 0; i < DIMENSION; i++)
        total += x[i] * x[i];
    return -half * total;
}

static inline double coordinate_reference(double value)
{
    return constant - 0.5 * value * value;
}

static inline double log_reference(const double *x)
{
    double total = 0.0;
    for (int i = 0; i < DIMENSION; i++)
        total += coordinate_reference(x[i]);
    return total;
}

static inline struct density density_at(struct point *point, int i, double position, double beta)
{
    struct density density;
    point->x[i] = position;
    point->evaluations++;
    density.reference = coordinate_reference(position);
    density.likelihood = log_likelihood(point->x);
    density.annealed = density.reference + beta * density.likelihood;
    return density;
}

/* Neal's test (2003, figure 6); ends are evaluated only when needed; NaN marks those not yet evaluated. */
static inline int reachable(
    struct point *point, int i, double beta, double start, double candidate, double level, int doublings,
    struct interval ends)
{
    int apart = 0;
    for (int halving = 0; halving < doublings; halving++) {
        double middle = 0.5 * (ends.left + ends.right);
        if ((start < middle) != (candidate < middle))
            apart = 1;
        if (candidate < middle) {
            ends.right = middle;
            ends.at_right = NAN;
        } else {
            ends.left = middle;
            ends.at_left = NAN;
        }
        if (!apart)
            continue;
        if (isnan(ends.at_left))
            ends.at_left = density_at(point, i, ends.left, beta).annealed;
        if (ends.at_left >= level)
            continue;
        if (isnan(ends.at_right))
            ends.at_right = density_at(point, i, ends.right, beta).annealed;
        if (ends.at_right < level)
            return 0;
    }
    return 1;
}

/* Neal's doubling (figure 4); returns the number of doublings. */
static inline int find_interval(
    struct point *point, int i, double beta, double start, double level, double width, int max_doublings,
    struct stream *stream, struct interval *ends)
{
    int doublings = 0;
    ends->left = start - width * uniform(stream);
    ends->right = ends->left + width;
    ends->at_left = density_at(point, i, ends->left, beta).annealed;
    ends->at_right = density_at(point, i, ends->right, beta).annealed;
    while (doublings < max_doublings && (ends->at_left >= level || ends->at_right >= level)) {
        if (uniform(stream) < 0.5) {
            ends->left -= ends->right - ends->left;
            ends->at_left = density_at(point, i, ends->left, beta).annealed;
        } else {
            ends->right += ends->right - ends->left;
            ends->at_right = density_at(point, i, ends->right, beta).annealed;
        }
        doublings++;
    }
    return doublings;
}

/* Update one coordinate by shrinkage (figure 5); returns how far it moved. */
static inline double slice_update(
    struct point *point, int i, double beta, double width, int max_doublings, struct stream *stream)
{
    double start = point->x[i];
    double reference_here = coordinate_reference(start);
    double level = reference_here + beta * point->log_likelihood - exponential(stream);
    struct interval ends;
    int doublings = find_interval(point, i, beta, start, level, width, max_doublings, stream, &ends);
    double left = ends.left, right = ends.right;
    for (int shrink = 0; shrink < MAX_SHRINKS; shrink++) {
        double candidate = left + (right - left) * uniform(stream);
        struct density density = density_at(point, i, candidate, beta);
        if (density.annealed >= level
            && (doublings == 0 || reachable(point, i, beta, start, candidate, level, doublings, ends))) {
            point->x[i] = candidate; /* the test has left one of its ends in x[i] */
            point->log_reference += density.reference - reference_here;
            point->log_likelihood = density.likelihood;
            return fabs(candidate - start);
        }
        if (candidate < start)
            left = candidate;
        else
            right = candidate;
    }
    point->x[i] = start;
    return 0.0;
}

/* What slices know of each coordinate: its width, and how often an interval may be doubled. */
struct slices {
    const double *widths, *doublings;
};

static inline struct slices slices_of(const double *widths, const double *doublings, int64_t chain)
{
    struct slices slices = {widths + chain * DIMENSION, doublings + chain * DIMENSION};
    return slices;
}

/* Update all coordinates in turn. `statistics` are the sums from which widths are tuned: distances, then moves. */
static void explore(
    double *x, double *logs, double beta, struct slices slices, double *statistics, struct stream stream)
{
    struct point point = {x, logs[LOG_REFERENCE], logs[LOG_LIKELIHOOD], 0};
    for (int i = 0; i < DIMENSION; i++) {
        double distance = slice_update(&point, i, beta, slices.widths[i], (int)slices.doublings[i], &stream);
        statistics[i] += distance;
        statistics[DIMENSION + i] += distance > 0.0 ? 1.0 : 0.0;
    }
    logs[LOG_REFERENCE] = point.log_reference;
    logs[LOG_LIKELIHOOD] = point.log_likelihood;
    logs[EVALUATIONS] += (double)point.evaluations;
}

/* Exploration without communication: replicas stay at their chains, and that of the reference does not change. */
void explore_scans(
    int64_t first, int64_t last, int64_t chains, uint64_t seed, const double *schedule, const double *widths,
    const double *doublings, double *states, double *logs, double *statistics)
{
    for (int64_t scan = first; scan <= last; scan++) {
        struct key key = scan_key(seed, 0, 1, (uint64_t)scan);
        for (int64_t chain = 1; chain < chains; chain++)
            explore(
                states + chain * DIMENSION, logs + chain * N_LOGS, schedule[chain],
                slices_of(widths, doublings, chain), statistics + chain * 2 * DIMENSION, start_stream(key, (uint64_t)chain));
    }
}

/* NumPy's ziggurat, with tables from the benchmark, so that draws from the reference have the same bits as well. */
struct ziggurat {
    const uint64_t *within;
    const double *scale, *height;
};

#define TAIL 3.6541528853610087963519472518
#define INVERSE_TAIL 0.27366123732975827203338247596

static double standard_normal_tail(uint64_t bits, struct stream *stream)
{
    for (;;) {
        double x = -INVERSE_TAIL * log1p(-uniform(stream));
        double y = -log1p(-uniform(stream));
        if (y + y > x * x)
            return (bits >> 8) & 1 ? -(TAIL + x) : TAIL + x;
    }
}

static inline double standard_normal(const struct ziggurat *table, struct stream *stream)
{
    for (;;) {
        uint64_t word = next_word(stream);
        unsigned place = word & 0xff;
        uint64_t bits = (word >> 9) & UINT64_C(0x000fffffffffffff);
        double x = (double)bits * table->scale[place];
        if ((word >> 8) & 1)
            x = -x;
        if (bits < table->within[place])
            return x;
        if (place == 0)
            return standard_normal_tail(bits, stream);
        double span = table->height[place - 1] - table->height[place];
        if (span * uniform(stream) + table->height[place] < exp(-0.5 * x * x))
            return x;
    }
}

/* Inputs and records of a round; the benchmark sets the pointers. */
struct round {
    int64_t chains, n_scans, batches;
    uint64_t seed, copy, number;
    const double *schedule, *widths, *doublings, *pivot, *centre;
    double *states, *logs;
    int64_t *chain_of, *replica_of, *leg;
    double *accepted, *before, *statistics;
    double *rejection, *second_rejection, *stone_scale, *stone_sum, *bridge, *moments;
    int64_t *zeros, *trips;
    int16_t *positions;
    double *draws, *draw_log_likelihood, *energies;
    struct ziggurat ziggurat;
};

static void draw_reference(const struct ziggurat *table, double *x, double *logs, struct stream stream)
{
    for (int i = 0; i < DIMENSION; i++)
        x[i] = standard_normal(table, &stream);
    logs[LOG_REFERENCE] = log_reference(x);
    logs[LOG_LIKELIHOOD] = log_likelihood(x);
    logs[EVALUATIONS] += 1.0;
    logs[LARGEST_REFERENCE] = logs[LARGEST_LIKELIHOOD] = 0.0;
}

/* The size of the log-densities, by which sterna judges how much running sums may be rounded. */
static inline void remember_largest(double *logs)
{
    logs[LARGEST_REFERENCE] = fmax(logs[LARGEST_REFERENCE], fabs(logs[LOG_REFERENCE]));
    logs[LARGEST_LIKELIHOOD] = fmax(logs[LARGEST_LIKELIHOOD], fabs(logs[LOG_LIKELIHOOD]));
}

static void explore_all(const struct round *round, int64_t scan, struct key key)
{
    for (int64_t replica = 0; replica < round->chains; replica++) {
        int64_t chain = round->chain_of[replica];
        double *x = round->states + replica * DIMENSION, *logs = round->logs + replica * N_LOGS;
        struct stream stream = start_stream(key, (uint64_t)replica);
        round->before[chain] = logs[LOG_LIKELIHOOD];
        if (chain == 0) {
            draw_reference(&round->ziggurat, x, logs, stream);
            continue;
        }
        remember_largest(logs);
        explore(
            x, logs, round->schedule[chain], slices_of(round->widths, round->doublings, chain),
            round->statistics + chain * 2 * DIMENSION, stream);
        if (scan % REFRESH_EVERY == 0) {
            remember_largest(logs);
            logs[LOG_REFERENCE] = log_reference(x);
            logs[LARGEST_REFERENCE] = 0.0;
        }
    }
}

static inline double acceptance(double exponent)
{
    return exponent < 0.0 ? exp(exponent) : 1.0;
}

static inline double logistic(double x)
{
    if (x >= 0.0)
        return 1.0 / (1.0 + exp(-x));
    double share = exp(x);
    return share / (1.0 + share);
}

/* A sum of exponentials, scaled by the largest. */
static inline void add_stone(double *scale, double *sum, double exponent)
{
    if (exponent > *scale) {
        *sum = 1.0 + *sum * exp(*scale - exponent);
        *scale = exponent;
    } else if (exponent > -INFINITY) {
        *sum += exp(exponent - *scale);
    }
}

/* Acceptance probabilities and sums of every pair: rejections, stepping stones and Bennett's sums. */
static void measure(const struct round *round, int64_t batch)
{
    int64_t pairs = round->chains - 1, way = round->batches * pairs;
    double *rejection = round->rejection + batch * pairs, *second = round->second_rejection + batch * (pairs - 1);
    double *scale = round->stone_scale + batch * pairs, *sum = round->stone_sum + batch * pairs;
    double *bridge = round->bridge + batch * pairs;
    const double *beta = round->schedule;
    for (int64_t pair = 0; pair < pairs; pair++) {
        double here = round->logs[round->replica_of[pair] * N_LOGS + LOG_LIKELIHOOD];
        double next = round->logs[round->replica_of[pair + 1] * N_LOGS + LOG_LIKELIHOOD];
        double step = beta[pair + 1] - beta[pair];
        round->accepted[pair] = acceptance(step * (here - next));
        rejection[pair] += 1.0 - round->accepted[pair];
        double lower = step * here, upper = step * next;
        add_stone(scale + pair, sum + pair, lower);
        add_stone(scale + way + pair, sum + way + pair, -upper);
        add_stone(scale + 2 * way + pair, sum + 2 * way + pair, upper);
        if (lower > -INFINITY)
            add_stone(scale + 3 * way + pair, sum + 3 * way + pair, -lower);
        double up = logistic(lower - round->pivot[pair]), down = logistic(round->pivot[pair] - upper);
        bridge[pair] += up;
        bridge[way + pair] += down;
        bridge[2 * way + pair] += up * (1.0 - up);
        bridge[3 * way + pair] += down * (1.0 - down);
        if (pair + 1 < pairs) {
            double after = round->logs[round->replica_of[pair + 2] * N_LOGS + LOG_LIKELIHOOD];
            second[pair] += 1.0 - acceptance((beta[pair + 2] - beta[pair]) * (here - after));
        }
    }
}

/* Every chain's energy, and its moments after and before exploration. */
static void add_chains(const struct round *round, int64_t scan, int64_t batch)
{
    int64_t chains = round->chains, power = round->batches * chains;
    double *moments = round->moments + batch * chains;
    for (int64_t chain = 0; chain < chains; chain++) {
        double energy = round->logs[round->replica_of[chain] * N_LOGS + LOG_LIKELIHOOD];
        round->energies[(scan - 1) * chains + chain] = energy;
        if (energy == -INFINITY) {
            round->zeros[batch]++;
            continue;
        }
        double now = energy - round->centre[chain];
        moments[chain] += now;
        moments[power + chain] += now * now;
        if (chain > 0) {
            double then = round->before[chain] - round->centre[chain];
            moments[2 * power + chain] += then;
            moments[3 * power + chain] += then * now;
        }
    }
}

/* Swap the pairs of this scan's parity: replicas exchange chains, states are not copied. */
static void swap(const struct round *round, int64_t scan, struct key key)
{
    for (int64_t pair = scan % 2; pair < round->chains - 1; pair += 2) {
        if (swap_uniform(key, (uint64_t)pair) < round->accepted[pair]) {
            int64_t replica = round->replica_of[pair], next = round->replica_of[pair + 1];
            round->replica_of[pair] = next;
            round->replica_of[pair + 1] = replica;
            round->chain_of[replica] = pair + 1;
            round->chain_of[next] = pair;
        }
    }
}

/* Restarts and round trips of the index process, and its trace. */
static void follow(const struct round *round, int64_t scan)
{
    enum { UNKNOWN, UPWARD, DOWNWARD };
    int16_t *positions = round->positions + (scan - 1) * round->chains;
    for (int64_t replica = 0; replica < round->chains; replica++) {
        int64_t chain = round->chain_of[replica];
        positions[replica] = (int16_t)chain;
        if (chain == round->chains - 1) {
            if (round->leg[replica] == UPWARD) {
                round->leg[replica] = DOWNWARD;
                if (round->trips[0]++ == 0)
                    round->trips[2] = scan;
            }
        } else if (chain == 0) {
            if (round->leg[replica] == DOWNWARD)
                round->trips[1]++;
            round->leg[replica] = UPWARD;
        }
    }
}

static void keep_draw(const struct round *round, int64_t scan)
{
    int64_t replica = round->replica_of[round->chains - 1];
    memcpy(
        round->draws + (scan - 1) * DIMENSION, round->states + replica * DIMENSION, DIMENSION * sizeof(double));
    round->draw_log_likelihood[scan - 1] = round->logs[replica * N_LOGS + LOG_LIKELIHOOD];
}

void run_scans(const struct round *round, int64_t first, int64_t last)
{
    for (int64_t scan = first; scan <= last; scan++) {
        struct key key = scan_key(round->seed, round->copy, round->number, (uint64_t)scan);
        explore_all(round, scan, key);
        int64_t batch = (scan * round->batches - 1) / round->n_scans;
        measure(round, batch);
        add_chains(round, scan, batch);
        swap(round, scan, key);
        follow(round, scan);
        keep_draw(round, scan);
    }
}
