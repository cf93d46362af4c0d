/* The random numbers of sterna: a key of (seed, copy, round, scan, replica) is mixed in two lanes into the
   state of an SFC64 generator. The same keys give the same bits, so both programs do the same work. */
#ifndef STREAM_H
#define STREAM_H

#include <math.h>
#include <stdint.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define LANE UINT64_C(0xD1B54A32D192ED03)
#define SWAP_KEY (UINT64_C(1) << 62)

struct key {
    uint64_t first, second;
};

/* Small enough to stay in registers while a replica is explored, because its address is not kept. */
struct stream {
    uint64_t a, b, c, counter;
};

static inline uint64_t mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
    return word ^ (word >> 31);
}

static inline struct key absorb(struct key key, uint64_t number)
{
    struct key next;
    next.first = mix(key.first + GOLDEN * (number + 1));
    next.second = mix(key.second ^ (LANE * (number + 1))) + key.first;
    return next;
}

static inline struct key scan_key(uint64_t seed, uint64_t copy, uint64_t round, uint64_t scan)
{
    struct key key = {mix(seed + GOLDEN), mix(seed ^ LANE)};
    return absorb(absorb(absorb(key, copy), round), scan);
}

static inline struct stream start_stream(struct key key, uint64_t replica)
{
    struct key own = absorb(key, replica);
    struct stream stream = {mix(own.first), mix(own.second), mix(own.first ^ (own.second << 1)), 1};
    return stream;
}

static inline double swap_uniform(struct key key, uint64_t pair)
{
    struct key own = absorb(key, SWAP_KEY + pair);
    return (double)((own.first ^ own.second) >> 11) * 0x1p-53;
}

static inline uint64_t next_word(struct stream *stream)
{
    uint64_t result = stream->a + stream->b + stream->counter++;
    stream->a = stream->b ^ (stream->b >> 11);
    stream->b = stream->c + (stream->c << 3);
    stream->c = ((stream->c << 24) | (stream->c >> 40)) + result;
    return result;
}

static inline double uniform(struct stream *stream)
{
    return (double)(next_word(stream) >> 11) * 0x1p-53;
}

static inline double exponential(struct stream *stream)
{
    return -log(1.0 - uniform(stream));
}

#endif
