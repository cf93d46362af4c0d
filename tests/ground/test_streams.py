"""Streams: NumPy's bits, exact repetition, and no trace of the key in the numbers, along every part of the key."""

import math

import numba
import numpy as np
import pytest
from numba import types
from scipy import stats

from sterna.engine.round import NO_COPY
from sterna.ground.compilation import as_pointer
from sterna.ground.streams import (
    N_STATE,
    coin,
    exponential,
    generator_in_python,
    generator_of,
    new_generator,
    new_stream,
    scan_key,
    start_stream,
    swap_uniform,
    uniform,
)

PARTS = ("seed", "copy", "round", "scan", "replica")
# Each statistical check below gives a false alarm once in a million runs.
FALSE_ALARM = 1e-6


@numba.njit
def read_streams(keys, words, first_words, uniforms, swaps, coins):
    """Record what the stream of every key begins with, and the key's swap number and coin."""
    pointer = as_pointer(words.ctypes.data, types.uint64)
    for k in range(len(keys)):
        key = scan_key(keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3])
        start_stream(pointer, key, keys[k, 4])
        first_words[k] = words[:3]
        uniforms[k, 0] = uniform(pointer)
        uniforms[k, 1] = uniform(pointer)
        # the replica's place in the key holds the number of the pair here
        swaps[k] = swap_uniform(key, keys[k, 4])
        coins[k] = coin(key)


@numba.njit
def read_naive_streams(keys, words, first_words, uniforms, swaps, coins):
    """Planted fault: the parts of the key are added up and become the generator's state unmixed."""
    pointer = as_pointer(words.ctypes.data, types.uint64)
    for k in range(len(keys)):
        total = np.uint64(keys[k].sum())
        words[0] = words[1] = words[2] = total
        words[3] = np.uint64(1)
        first_words[k] = words[:3]
        uniforms[k, 0] = uniform(pointer)
        uniforms[k, 1] = uniform(pointer)
        swaps[k] = uniforms[k, 0]
        coins[k] = total & np.uint64(1)


@numba.njit
def take_uniforms(words, out):
    pointer = as_pointer(words.ctypes.data, types.uint64)
    for k in range(out.size):
        out[k] = uniform(pointer)


@numba.njit
def take_exponentials(words, out):
    pointer = as_pointer(words.ctypes.data, types.uint64)
    for k in range(out.size):
        out[k] = exponential(pointer)


@numba.njit
def begin(words, seed, copy, round_number, scan, replica):
    start_stream(as_pointer(words.ctypes.data, types.uint64), scan_key(seed, copy, round_number, scan), replica)


class Streams:
    """What the streams of many keys begin with."""

    def __init__(self, keys, read=read_streams):
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        self.first_words = np.empty((len(keys), 3), dtype=np.uint64)
        self.uniforms = np.empty((len(keys), 2))
        self.swaps = np.empty(len(keys))
        self.coins = np.empty(len(keys), dtype=np.int64)
        read(keys, np.zeros(5, dtype=np.uint64), self.first_words, self.uniforms, self.swaps, self.coins)


def keys_along(part, size=60_000):
    """Keys that are alike but for one part, which counts up."""
    keys = np.tile(np.array([1, 0, 3, 5, 2], dtype=np.int64), (size, 1))
    keys[:, PARTS.index(part)] = np.arange(size)
    return keys


def grid_of_keys():
    """All combinations of small, neighbouring and large values, with sums and bits that coincide often."""
    values = [0, 1, 2, 3, 4, 1 << 31]
    copies = [*values, NO_COPY]
    return np.array(np.meshgrid(values, copies, values, values, values)).reshape(5, -1).T


# ------------------------------------------------------------------------------------------------ checks


def p_of_uniformity(numbers):
    return stats.kstest(numbers, "uniform").pvalue


def p_of_no_correlation(numbers):
    """Normal approximation of the correlation of neighbours; exact to far below the threshold at these sizes."""
    correlation = np.corrcoef(numbers[:-1], numbers[1:])[0, 1]
    return 2 * stats.norm.sf(abs(correlation) * math.sqrt(len(numbers) - 1))


def p_of_pairs(left, right, bins=16):
    """Chi-square test that pairs fill the unit square evenly."""
    cells = np.floor(left * bins).astype(int) * bins + np.floor(right * bins).astype(int)
    return stats.chisquare(np.bincount(cells, minlength=bins * bins)).pvalue


def p_values(numbers):
    """Every check of a sequence of numbers that should be independent and uniform."""
    return {
        "uniform": p_of_uniformity(numbers),
        "neighbours uncorrelated": p_of_no_correlation(numbers),
        "neighbours independent": p_of_pairs(numbers[0::2], numbers[1::2]),
    }


def p_of_coins(coins):
    """Chi-square test of fairness and independence: four coins in a row show all sixteen patterns alike."""
    patterns = coins[: len(coins) // 4 * 4].reshape(-1, 4) @ np.array([8, 4, 2, 1])
    return stats.chisquare(np.bincount(patterns, minlength=16)).pvalue


def words_repeat(first_words):
    """Whether some word occurs twice, in one stream or in two."""
    flat = first_words.ravel()
    return len(np.unique(flat)) < len(flat)


def avalanche_p(part, read=read_streams, bases=1000):
    """Smallest p, corrected for their number, that flipping an input bit flips an output bit half of the time."""
    rng = np.random.default_rng(12)
    base = rng.integers(0, 2**63 - 1, size=(bases, 5))
    before = Streams(base, read).first_words
    worst = 0.0
    for bit in range(63):
        changed = base.copy()
        changed[:, PARTS.index(part)] ^= np.int64(1) << np.int64(bit)
        flipped = before ^ Streams(changed, read).first_words
        bits = np.unpackbits(flipped.view(np.uint8), axis=1)
        worst = max(worst, np.abs(bits.sum(axis=0, dtype=np.int64) - bases / 2).max())
    # binomial tails at both ends, times the number of (input bit, output bit)
    return 2 * stats.binom.cdf(bases / 2 - worst, bases, 0.5) * 63 * 192


# ------------------------------------------------------------------------------------- bits and repetition


def test_uniform_has_the_bits_of_numpys_random():
    words, generator = new_generator()
    ours = np.empty(1000)
    for seed in (0, 1, 2**63 - 1):
        begin(words, seed, 2, 3, 4, 5)
        take_uniforms(words, ours)
        begin(words, seed, 2, 3, 4, 5)
        numpys = generator.random(1000)
        assert np.array_equal(ours, numpys)


def test_uniform_and_numpy_share_one_stream():
    words, generator = new_generator()
    begin(words, 1, 2, 3, 4, 5)
    expected = generator.random(6)
    begin(words, 1, 2, 3, 4, 5)
    mixed, two = [], np.empty(2)
    for _ in range(2):
        take_uniforms(words, two)
        mixed += [*two, generator.random()]
    assert np.array_equal(mixed, expected)


def test_comparison_with_numpy_catches_another_counter():
    words, generator = new_generator()
    ours = np.empty(10)
    begin(words, 1, 2, 3, 4, 5)
    take_uniforms(words, ours)
    begin(words, 1, 2, 3, 4, 5)
    words[3] += np.uint64(1)
    assert not np.array_equal(ours, generator.random(10))


def test_stream_of_a_key_begins_alike_whatever_came_before():
    words, generator = new_generator()
    begin(words, 1, 0, 1, 1, 0)
    expected = generator.standard_normal(10), generator.random(10)
    # a 32-bit number leaves its other half in a buffer, which a new beginning must forget
    generator.integers(0, 7, size=3, dtype=np.uint32)
    begin(words, 1, 0, 1, 1, 0)
    assert np.array_equal(generator.standard_normal(10), expected[0])
    assert np.array_equal(generator.random(10), expected[1])


def test_buffered_half_number_is_forgotten():
    words, generator = new_generator()
    begin(words, 1, 0, 1, 1, 0)
    expected = generator.integers(0, 2**31, size=4, dtype=np.uint32)
    generator.integers(0, 2**31, dtype=np.uint32)
    begin(words, 1, 0, 1, 1, 0)
    assert np.array_equal(generator.integers(0, 2**31, size=4, dtype=np.uint32), expected)


def test_generators_do_not_share_memory():
    words, _ = new_generator()
    other, _ = new_generator()
    begin(words, 1, 0, 1, 1, 0)
    before = words.copy()
    begin(other, 2, 0, 1, 1, 0)
    assert np.array_equal(words, before)


def test_uniform_reaches_zero_and_never_one():
    largest, smallest = np.empty(1), np.empty(1)
    take_uniforms(np.array([2**64 - 1, 0, 0, 0, 0], dtype=np.uint64), largest)
    take_uniforms(np.zeros(5, dtype=np.uint64), smallest)
    assert largest[0] == 1 - 2.0**-53
    assert smallest[0] == 0.0


def test_exponential_is_finite_at_both_ends_and_has_its_law():
    """False-alarm rate: 1e-6."""
    end, draws = np.empty(1), np.empty(100_000)
    take_exponentials(np.array([2**64 - 1, 0, 0, 0, 0], dtype=np.uint64), end)
    assert end[0] == -math.log(2.0**-53)
    take_exponentials(np.zeros(5, dtype=np.uint64), end)
    assert end[0] == 0.0
    words, _ = new_generator()
    begin(words, 1, 2, 3, 4, 5)
    take_exponentials(words, draws)
    assert stats.kstest(draws, "expon").pvalue > FALSE_ALARM
    assert stats.kstest(1.03 * draws, "expon").pvalue < FALSE_ALARM


# --------------------------------------------------------------------------------------- keys do not show


def test_all_keys_of_a_grid_have_words_of_their_own():
    """False-alarm rate: 27 216 words of 64 bits, drawn at random, repeat with probability 2e-11."""
    streams = Streams(grid_of_keys())
    assert not words_repeat(streams.first_words)
    # a swap's number differs from those of all replicas, too; 53 bits of 9072 * 3 numbers repeat with 4e-8
    numbers = np.concatenate([streams.uniforms.ravel(), streams.swaps])
    assert len(np.unique(numbers)) == len(numbers)


def test_grid_catches_keys_that_are_added_up():
    assert words_repeat(Streams(grid_of_keys(), read_naive_streams).first_words)


@pytest.mark.parametrize("part", PARTS)
def test_first_numbers_are_independent_along_a_part_of_the_key(part):
    """False-alarm rate: 5e-6 for each part (five checks of 1e-6)."""
    streams = Streams(keys_along(part))
    values = {**p_values(streams.uniforms[:, 0]), "second": p_of_uniformity(streams.uniforms[:, 1])}
    values["first and second"] = p_of_pairs(streams.uniforms[:, 0], streams.uniforms[:, 1])
    assert {name: p for name, p in values.items() if not p > FALSE_ALARM} == {}


@pytest.mark.parametrize("part", PARTS)
def test_swap_numbers_are_independent_along_a_part_of_the_key(part):
    """False-alarm rate: 4e-6 for each part (four checks of 1e-6)."""
    streams = Streams(keys_along(part))
    values = p_values(streams.swaps)
    values["swap and replica"] = p_of_pairs(streams.swaps, streams.uniforms[:, 0])
    assert {name: p for name, p in values.items() if not p > FALSE_ALARM} == {}


@pytest.mark.parametrize("part", [part for part in PARTS if part != "replica"])
def test_coins_are_fair_and_independent_along_a_part_of_the_key(part):
    """False-alarm rate: 2e-6 for each part (two checks of 1e-6)."""
    streams = Streams(keys_along(part))
    assert p_of_coins(streams.coins) > FALSE_ALARM
    # the coin must not foretell the swap of its scan
    low = streams.swaps < 0.5
    table = [[np.sum(low & (streams.coins == side)), np.sum(~low & (streams.coins == side))] for side in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_coin_is_one_of_two_and_ignores_replicas():
    streams = Streams(keys_along("replica", 100))
    assert len(set(streams.coins)) == 1
    assert set(Streams(keys_along("scan", 100)).coins) == {0, 1}


@pytest.mark.parametrize("part", PARTS)
def test_checks_catch_keys_that_are_added_up(part):
    naive = Streams(keys_along(part), read_naive_streams)
    assert all(p < FALSE_ALARM for p in p_values(naive.uniforms[:, 0]).values())
    assert p_of_coins(naive.coins) < FALSE_ALARM


def test_checks_catch_numbers_that_lean_on_their_neighbours():
    """A fault that uniformity alone cannot see: the second of two numbers is the first, moved by a little."""
    numbers = np.random.default_rng(3).random(60_000)
    numbers[1::2] = (numbers[0::2] + 0.2 * numbers[1::2]) % 1.0
    values = p_values(numbers)
    assert values["neighbours uncorrelated"] < FALSE_ALARM
    assert values["neighbours independent"] < FALSE_ALARM


@pytest.mark.parametrize("part", PARTS)
def test_every_bit_of_a_key_moves_every_bit_of_the_state(part):
    """False-alarm rate: 1e-6 for each part, corrected for 63 x 192 pairs of bits."""
    assert avalanche_p(part) > FALSE_ALARM


@pytest.mark.parametrize("part", PARTS)
def test_avalanche_catches_keys_that_are_added_up(part):
    assert avalanche_p(part, read_naive_streams) < FALSE_ALARM


@numba.njit
def draw_three(stream, out):
    words = as_pointer(stream.ctypes.data, types.uint64)
    start_stream(words, scan_key(1, 2, 3, 4), 5)
    rng = generator_of(words)
    out[0], out[1], out[2] = rng.standard_normal(), rng.integers(0, 1000), rng.standard_gamma(0.3)


def test_the_engines_generator_draws_what_numpys_draws():
    found, stream = np.zeros(3), new_stream()
    draw_three(stream, found)
    words, generator = new_generator()
    begin(words, 1, 2, 3, 4, 5)
    assert found.tolist() == [generator.standard_normal(), generator.integers(0, 1000), generator.standard_gamma(0.3)]
    assert stream[:N_STATE].tolist() == words.tolist()


def test_a_generator_lent_to_python_continues_the_stream():
    words, generator = new_generator()
    stream = new_stream()
    for one in (words, stream):
        begin(one, 1, 2, 3, 4, 5)
    for _ in range(2):
        with generator_in_python(stream) as lent, generator_in_python(new_stream()) as other:
            assert other is not lent
            # 32 bits at a time, so that the buffer counts too
            assert lent.integers(0, 9, dtype=np.uint32) == generator.integers(0, 9, dtype=np.uint32)
            assert lent.normal() == generator.normal()
    assert stream[:N_STATE].tolist() == words.tolist()
