/* The limit for trajectories: Hamiltonian Monte Carlo with a diagonal metric, written by hand for the normal model.

   The likelihood is -2 |x|^2, known when compiling; its gradient is a function that writes a vector, which the next loop
   reads. KNOWN_REFERENCE says whether means and precisions of the reference are known when compiling too, 0 and 1, or
   are read as data, as they must be in any program for more than one model. */
#include "stream.h"

#ifndef DIMENSION
#error "compile with -DDIMENSION=..."
#endif

static const double half = 2.0;
static const double constant = -0.9189385332046727; /* -log(2 pi) / 2, rounded as in sterna */

enum { LOG_REFERENCE, LOG_LIKELIHOOD, EVALUATIONS, GRADIENTS, LARGEST_REFERENCE, LARGEST_LIKELIHOOD, N_LOGS };

struct densities {
    double reference, likelihood;
};

static inline struct densities densities_at(const double *x)
{
    struct densities found = {0.0, 0.0};
    double total = 0.0;
    for (int i = 0; i < DIMENSION; i++)
        found.reference += constant - 0.5 * x[i] * x[i];
    for (int i = 0; i < DIMENSION; i++)
        total += x[i] * x[i];
    found.likelihood = -half * total;
    return found;
}

static inline void write_gradient(const double *restrict x, double *restrict gradient)
{
    for (int i = 0; i < DIMENSION; i++)
        gradient[i] = -2.0 * half * x[i];
}

static inline double kinetic_energy(const double *velocity)
{
    double total = 0.0;
    for (int i = 0; i < DIMENSION; i++)
        total += velocity[i] * velocity[i];
    return 0.5 * total;
}

static inline void fill_normals(double *numbers, struct stream *stream)
{
    for (int k = 0; k < DIMENSION; k += 2) {
        double radius = sqrt(2.0 * exponential(stream));
        double angle = 6.283185307179586 * uniform(stream);
        numbers[k] = radius * cos(angle);
        if (k + 1 < DIMENSION)
            numbers[k + 1] = radius * sin(angle);
    }
}

struct reference {
    const double *means, *precisions;
};

static inline double reference_slope(double mean, double precision, double x)
{
    return KNOWN_REFERENCE ? -x : (mean - x) * precision;
}

static inline void leap(
    double *restrict x, double *restrict velocity, double *restrict gradient, const double *restrict scale,
    const double *restrict means, const double *restrict precisions, double beta, double size, int64_t steps)
{
    double kicked = 0.5 * size;
    for (int64_t step = 0; step < steps; step++) {
        for (int i = 0; i < DIMENSION; i++) {
            velocity[i] += kicked * scale[i] * (reference_slope(means[i], precisions[i], x[i]) + beta * gradient[i]);
            x[i] += size * scale[i] * velocity[i];
        }
        write_gradient(x, gradient);
        kicked = size;
    }
    for (int i = 0; i < DIMENSION; i++)
        velocity[i] += 0.5 * size * scale[i] * (reference_slope(means[i], precisions[i], x[i]) + beta * gradient[i]);
}

static void explore(
    double *x, double *logs, double beta, const double *scale, struct reference reference, double size, int64_t steps,
    double *statistics, struct stream stream)
{
    double start[DIMENSION], velocity[DIMENSION], gradient[DIMENSION];
    for (int i = 0; i < DIMENSION; i++)
        start[i] = x[i];
    fill_normals(velocity, &stream);
    uniform(&stream); /* the number of steps is fixed, but sterna draws a random number for it */
    double before = logs[LOG_REFERENCE] + beta * logs[LOG_LIKELIHOOD] - kinetic_energy(velocity);
    write_gradient(x, gradient);
    leap(x, velocity, gradient, scale, reference.means, reference.precisions, beta, size, steps);
    double kinetic = kinetic_energy(velocity);
    struct densities found = densities_at(x);
    double after = found.reference + beta * found.likelihood - kinetic;
    double probability = exp(fmin(after - before, 0.0));
    if (uniform(&stream) < probability) {
        logs[LOG_REFERENCE] = found.reference;
        logs[LOG_LIKELIHOOD] = found.likelihood;
    } else {
        for (int i = 0; i < DIMENSION; i++)
            x[i] = start[i];
    }
    logs[EVALUATIONS] += 1.0;
    logs[GRADIENTS] += (double)steps + 1.0;
    statistics[0] += 1.0;
    statistics[1] += probability;
}

/* One trajectory per scan for every chain except the reference. */
void explore_scans(
    int64_t first, int64_t last, int64_t chains, uint64_t seed, int64_t steps, double size, const double *means,
    const double *precisions, const double *schedule, const double *scale, double *states, double *logs,
    double *statistics)
{
    struct reference reference = {means, precisions};
    for (int64_t scan = first; scan <= last; scan++) {
        struct key key = scan_key(seed, 0, 1, (uint64_t)scan);
        for (int64_t chain = 1; chain < chains; chain++)
            explore(
                states + chain * DIMENSION, logs + chain * N_LOGS, schedule[chain], scale + chain * DIMENSION, reference,
                size, steps, statistics + chain * 2, start_stream(key, (uint64_t)chain));
    }
}
