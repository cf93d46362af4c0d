/* The limit for spins: single-site heat bath on a periodic square lattice. */
#include "stream.h"

#define SITES (SIZE * SIZE)

/* Spins are small integers, and the one just drawn stays in a register, as in a typical hand-written program;
   sterna stores all states as doubles. */
static void explore(int8_t *spins, double *log_likelihood, double beta, double coupling, struct stream stream)
{
    double up[9];
    for (int k = 0; k < 9; k++)
        up[k] = 1.0 / (1.0 + exp(2.0 * (0.0 - beta * coupling * (k - 4))));
    int edges = 0;
    for (int row = 0; row < SIZE; row++) {
        int8_t *here = spins + row * SIZE;
        const int8_t *above = spins + (row == 0 ? SIZE - 1 : row - 1) * SIZE;
        const int8_t *below = spins + (row == SIZE - 1 ? 0 : row + 1) * SIZE;
        int before = here[SIZE - 1];
        for (int column = 0; column < SIZE; column++) {
            int right = column == SIZE - 1 ? 0 : column + 1;
            int total = above[column] + below[column] + before + here[right];
            int spin = uniform(&stream) < up[4 + total] ? 1 : -1;
            edges += (spin - here[column]) * total;
            here[column] = (int8_t)spin;
            before = spin;
        }
    }
    *log_likelihood += coupling * edges;
}

void explore_scans(
    int64_t first, int64_t last, int64_t chains, uint64_t seed, const double *schedule, double coupling,
    int8_t *spins, double *log_likelihoods)
{
    for (int64_t scan = first; scan <= last; scan++) {
        struct key key = scan_key(seed, 0, 1, (uint64_t)scan);
        for (int64_t chain = 1; chain < chains; chain++)
            explore(
                spins + chain * SITES, log_likelihoods + chain, schedule[chain], coupling,
                start_stream(key, (uint64_t)chain));
    }
}
