"""The copy-number model: its likelihood against all hidden paths, its answers against draws from the reference."""

import inspect
import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from kernels import apply_bound, draws_of, logs_of
from scipy import stats

import sterna
from sterna.models.copy_number import draw_reads, lay_out, simulate
from sterna.models.kernels import copy_number_moves
from sterna.models.kernels.hidden_chain import change, exponential

LEVEL = 1e-6
READS = np.array([90.0, 0.0, 300.0, 110.0, 70.0, 95.0, 180.0, 0.0])
GC = np.array([0.4, 0.5, -1.0, 0.45, -1.0, -1.0, 0.55, 0.6])
CHROMOSOMES = np.array(["1", "1", "1", "1", "X", "X", "X", "X"])


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)


def small(**options):
    return sterna.models.copy_number(READS, GC, CHROMOSOMES, **options)


# ------------------------------------------------------------------------------------------------ the likelihood


def emission(state, log_reads, g, f, deviation):
    """Density of a bin, straight from the model."""
    if math.isnan(g):
        return 1.0
    if state == 0:
        return 0.1
    if log_reads == -math.inf:
        return 0.0
    a = f[2] / 2
    b = f[1] + 2 * a
    c = f[0] - a + b
    return stats.norm.pdf(log_reads, a * g * g + b * g + c + math.log(state), deviation(state))


def transition(a, b, m, rate):
    return 1 / m + (m - 1) / m * math.exp(-rate) if a == b else 1 / m - math.exp(-rate) / m


def plain_log_likelihood(state, reads, gc, chromosomes, densities=emission):
    """Sum over all hidden paths of every chromosome."""
    rate, f, sd, slope = state[0], state[1:4], state[4], state[5]
    total = 0.0
    for place, name in enumerate(dict.fromkeys(chromosomes.tolist())):
        m, own = int(state[7 + place]), np.flatnonzero(chromosomes == name)
        with np.errstate(divide="ignore"):
            log_densities = np.log(reads[own])
        g = [math.log(value) if value > 0 else math.nan for value in gc[own]]
        weight = 0.0
        for path in itertools.product(range(m), repeat=len(own)):
            term = 1 / m
            for k, x in enumerate(path):
                term *= densities(x, log_densities[k], g[k], f, lambda x: sd + slope * x)
                if k > 0:
                    term *= transition(path[k - 1], x, m, rate)
            weight += term
        total += math.log(weight) if weight > 0 else -1e300
    return total


def some_states(n):
    """Parameters near those of the data, and draws of the reference, which are far; few hidden states."""
    rng = np.random.default_rng(3)
    states = draws_of(small())(2 * n)
    states[:n, 0] = rng.exponential(0.2, n)
    states[:n, 1:4] = rng.normal([4.5, 0.0, 0.0], 0.5, (n, 3))
    states[:n, 4:6] = rng.exponential(0.3, (n, 2))
    states[:, 7:] = np.minimum(states[:, 7:], 4)
    return states


def largest_error(densities=emission):
    errors, target = [], small()
    for x in some_states(8):
        exact = plain_log_likelihood(x, READS, GC, CHROMOSOMES, densities)
        errors.append(abs(target.log_densities(x)[1] - exact) / max(1.0, abs(exact)))
    return max(errors)


def test_likelihood_is_the_sum_over_all_paths():
    assert largest_error() < 1e-11


FAULTS = {
    "missing bins in state 0": lambda x, log_reads, g, f, sd: emission(x, log_reads, math.log(0.5), f, sd),
    "state 0 without reads alone": lambda x, log_reads, g, f, sd: (
        0.0 if x == 0 and log_reads > 0 and not math.isnan(g) else emission(x, log_reads, g, f, sd)
    ),
    "another deviation": lambda x, log_reads, g, f, sd: emission(x, log_reads, g, f, lambda x: sd(x + 1)),
    "curve at another place": lambda x, log_reads, g, f, sd: emission(x, log_reads, g + 0.1, f, sd),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_comparison_catches_planted_faults(fault):
    assert largest_error(FAULTS[fault]) > 1e-4


def matrix_log_likelihood(x, data, c, m):
    """Forward recursion by whole matrices and logarithms, for chromosomes too long for an enumeration."""
    begin, end = data["starts"][c], data["starts"][c + 1]
    moves = np.full((m, m), 1 / m - math.exp(-x[0]) / m) + math.exp(-x[0]) * np.eye(m)
    log_densities, weights = 0.0, np.full(m, 1 / m)
    for k in range(begin, end):
        weights = weights @ np.linalg.matrix_power(moves, int(data["steps"][k]))
        mean = x[1] + x[2] * data["g"][k] + x[3] * data["half_square"][k]
        states = np.arange(1, m)
        densities = stats.norm.pdf(data["log_reads"][k], mean + np.log(states), x[4] + x[5] * states)
        weights = weights * np.append(0.1, densities)
        log_densities += math.log(weights.sum())
        weights /= weights.sum()
    return log_densities


@pytest.mark.parametrize("m", [1, 2, 3, 8, 19, 20])
def test_long_chromosomes_and_many_states(m):
    """Over more than a block of bins, with weights that must be scaled, near the data and far from them."""
    rng = np.random.default_rng(m)
    gc = np.where(rng.random(150) < 0.2, -1.0, rng.uniform(0.35, 0.6, 150))
    reads = draw_reads(rng, np.log(np.maximum(gc, 0.1)), 0.05, (5.0, 2.0, -3.0), (0.1, 0.02), 4)
    reads[rng.random(150) < 0.1] = 0.0
    names = np.repeat([0, 1], [100, 50])
    target, data = sterna.models.copy_number(reads, gc, names), lay_out(reads, gc, names)
    for scale in (1.0, 1e-3, 30.0):
        x = np.array([0.05, 5.0, 2.0, -3.0, 0.1 * scale, 0.02 * scale, 0.3, m, max(1, m - 1)])
        exact = sum(matrix_log_likelihood(x, data, c, int(x[7 + c])) for c in (0, 1))
        assert target.log_densities(x)[1] == pytest.approx(exact, rel=1e-11)


def test_exponentials_without_branches():
    v = np.concatenate([np.linspace(-700, 699, 20_001), np.random.default_rng(1).normal(0, 3, 5000), [0.0]])
    found = np.array([exponential(value) for value in v])
    assert np.abs(found / np.exp(v) - 1).max() < 5e-16
    assert exponential(-1e300) < 1e-300


def test_one_deviation_is_a_slope_of_zero():
    full, single = small(), small(single_deviation=True)
    assert single.dimension == full.dimension - 1
    for x in some_states(10):
        x[5] = 1e-300
        assert single.log_densities(np.delete(x, 5))[1] == full.log_densities(x)[1]


def test_local_changes_are_differences_of_whole_densities():
    target, data = small(), lay_out(READS, GC, CHROMOSOMES)
    states = some_states(15)
    errors = []
    for x, other in itertools.pairwise(states):
        for i in range(len(x)):
            moved = x.copy()
            moved[i] = other[i]
            exact = np.subtract(target.log_densities(moved), target.log_densities(x))
            from_likelihood = change(x, i, other[i], *data.values(), 1)
            errors.append(abs(from_likelihood - exact[1]) / max(1.0, abs(exact[1])))
    assert max(errors) < 1e-9


# -------------------------------------------------------------------------------------------------- the reference


def test_reference_is_that_of_plain_terms():
    for options, n_slopes in (({}, 1), ({"single_deviation": True}, 0)):
        target = small(**options)
        j = np.arange(1, 21)
        for x in draws_of(target)(100):
            p, m = x[5 + n_slopes], x[6 + n_slopes :].astype(int)
            exact = stats.expon.logpdf(x[0]) + stats.norm(0, 10).logpdf(x[1:4]).sum()
            exact += stats.expon(scale=10).logpdf(x[4 : 5 + n_slopes]).sum()
            exact += np.log(p * (1 - p) ** m / np.sum(p * (1 - p) ** j)).sum()
            assert target.log_densities(x)[0] == pytest.approx(exact, rel=1e-9)


def test_draws_of_the_reference_have_their_law():
    """False-alarm rate: 1e-6, nine times; numbers of states get a uniform position in their step of the cdf."""
    x = draws_of(small())(20_000)
    j = np.arange(21)
    cdf = np.cumsum(x[:, 6:7] * (1 - x[:, 6:7]) ** j * (j > 0), axis=1)
    cdf /= cdf[:, -1:]
    rows, place = np.arange(len(x)), np.random.default_rng(1).random(len(x))

    def uniform(m):
        return cdf[rows, m - 1] + place * (cdf[rows, m] - cdf[rows, m - 1])

    columns = [stats.expon.cdf(x[:, 0]), *stats.norm(0, 10).cdf(x[:, 1:4]).T, *stats.expon(scale=10).cdf(x[:, 4:6]).T]
    columns += [x[:, 6], uniform(x[:, 7].astype(int)), uniform(x[:, 8].astype(int))]
    assert min(stats.kstest(column, "uniform").pvalue for column in columns) > LEVEL
    # planted fault: numbers of states that are independent of p
    assert stats.kstest(uniform(np.roll(x[:, 7], 1).astype(int)), "uniform").pvalue < LEVEL


# ----------------------------------------------------------------------------------- the simulator and the data


def mean_scores(deviation):
    """Slopes of the log-likelihood at the parameters of simulated data, over their standard errors: mean zero."""
    x = np.array([0.1, 5.0, 1.0, -2.0, 0.1, 0.05, 0.3, 4.0])
    rng, scores = np.random.default_rng(2), []
    for _ in range(400):
        gc = rng.uniform(0.35, 0.6, 40)
        reads = draw_reads(rng, np.log(gc), 0.1, (5.0, 1.0, -2.0), (deviation, 0.05), 4)
        target = sterna.models.copy_number(reads, gc, np.zeros(40, dtype=int))
        steps = 1e-4 * np.eye(8)[:6]
        scores.append([target.log_densities(x + h)[1] - target.log_densities(x - h)[1] for h in steps])
    return np.mean(scores, axis=0) / (np.std(scores, axis=0, ddof=1) / 20)


@pytest.mark.laws
def test_simulator_and_likelihood_agree():
    """Each of six within 4 standard errors: a false alarm of 4e-4."""
    assert np.abs(mean_scores(0.1)).max() < 4
    # planted fault: another deviation
    assert np.abs(mean_scores(0.12)).max() > 4


def test_default_data_are_simulated_in_the_sizes_of_the_paper(no_folder):
    target = sterna.models.copy_number()
    assert target.dimension == 31
    assert sterna.models.copy_number(single_deviation=True).dimension == 30
    assert any("simulated" in note for note in target.notes)
    reads, gc, chromosomes = simulate(np.random.default_rng(1))
    assert (len(reads), np.sum(gc < 0), len(set(chromosomes))) == (6206, 717, 24)


def test_files_are_read(monkeypatch, tmp_path):
    folder = tmp_path / "copy_number"
    folder.mkdir()
    for name, values in (("7.csv", READS), ("gc.csv", GC)):
        rows = [f"{c},{k},{value}" for k, (c, value) in enumerate(zip(CHROMOSOMES, values, strict=True))]
        (folder / name).write_text("\n".join(["chromosomes,positions,value", *rows]))
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    x = some_states(1)[0]
    assert sterna.models.copy_number().log_densities(x) == small().log_densities(x)
    (folder / "gc.csv").write_text("chromosomes,positions,value\n1,0,0.5\n")
    with pytest.raises(sterna.OptionError, match="do not list the same bins"):
        sterna.models.copy_number()


@pytest.mark.parametrize(
    "given",
    [
        (READS, None, None),
        (READS, GC[:-1], CHROMOSOMES),
        (-READS, GC, CHROMOSOMES),
        (READS.astype(str), GC, CHROMOSOMES),
        ([], [], []),
    ],
)
def test_what_are_no_bins_is_refused(given):
    with pytest.raises(sterna.OptionError, match="copy_number"):
        sterna.models.copy_number(*given)


# ------------------------------------------------------------------------------------------------- exploration


def by_importance(target, beta, n, rng):
    """Draw from the annealed distribution: half a million draws from the reference, resampled by their likelihoods."""
    draws = draws_of(target, seed=int(rng.integers(1 << 30)))(500_000)
    log_densities = logs_of(target, draws)[:, 1]
    weights = np.exp(beta * (log_densities - log_densities.max()))
    assert weights.sum() ** 2 / (weights**2).sum() > 20 * n, "too few of the draws count"
    return draws[rng.choice(len(draws), size=n, replace=False, p=weights / weights.sum())]


@lru_cache
def from_the_law(beta):
    target, rng = small(), np.random.default_rng(4)
    return target, *(by_importance(target, beta, 4000, rng) for _ in range(2))


def p_of_exploration(beta, kernels_beta, move=None, places=()):
    """Compare states after ten scans, or ten moves of some places, with others; smallest p of nine, times nine."""
    target, states, others = from_the_law(beta)
    bound = target.explorer.bind(target) if move is None else sterna.Move(move).bind(target, np.array(places))
    after, log_densities, _ = apply_bound(target, bound, states, kernels_beta)
    assert np.allclose(log_densities[:, :2], logs_of(target, after)[:, :2], rtol=1e-9, atol=1e-9)
    moved = (after != states).mean(axis=0) > 0.3
    assert moved.sum() >= (9 if move is None else 2)
    return 9 * min(stats.ks_2samp(after[:, k], others[:, k], method="asymp").pvalue for k in range(9))


@pytest.mark.laws
def test_exploration_leaves_the_distribution_unchanged():
    """False-alarm rate: 1e-6."""
    assert p_of_exploration(0.5, 0.5) > LEVEL
    # planted fault: another beta
    assert p_of_exploration(0.5, 1.0) < LEVEL


def with_fault(function, old, new):
    source = inspect.getsource(function)
    assert old in source
    scope = dict(vars(copy_number_moves))
    exec(source.replace(old, new), scope)
    return scope[function.__name__]


@pytest.mark.parametrize(
    ("move", "places", "fault"),
    [
        (copy_number_moves.scale_deviations, range(6), (" + count * z", "")),
        (copy_number_moves.move_p_with_states, (6, 7, 8), (" + log_volume(new[0], new[1:].sum(), count)", "")),
    ],
)
def test_joint_moves_leave_the_distribution_unchanged(move, places, fault):
    """False-alarm rate: 1e-6; a move that forgets its volume is found."""
    assert p_of_exploration(0.5, 0.5, move, places) > LEVEL
    assert p_of_exploration(0.5, 0.5, with_fault(move, *fault), places) < LEVEL


def test_joint_moves_with_one_deviation():
    """Then it alone is scaled, and nothing else moves."""
    target = small(single_deviation=True)
    states = draws_of(target)(50)
    bound = sterna.Move(copy_number_moves.scale_deviations).bind(target, np.arange(5))
    after, log_densities, _ = apply_bound(target, bound, states, 0.3, times=1)
    assert (after[:, 4] != states[:, 4]).mean() > 0.9
    assert np.array_equal(np.delete(after, 4, axis=1), np.delete(states, 4, axis=1))
    assert np.allclose(log_densities[:, :2], logs_of(target, after)[:, :2], rtol=1e-9, atol=1e-9)


def test_numbers_of_states_keep_their_ranks():
    """Ranks drawn for states lead back to them, and to the distribution's quantiles for another p."""
    rng = np.random.default_rng(1)
    shares = 0.8 ** np.arange(20)
    from_it_on = np.cumsum(shares[::-1]) / shares.sum()
    for p in (1e-6, 0.03, 0.5, 0.999):
        states = rng.integers(1, 21, 50).astype(float)
        ranks, found = copy_number_moves.draw_ranks(p, states, rng), np.empty(50)
        copy_number_moves.set_from_ranks(p, ranks, found)
        assert (found == states).all()
        copy_number_moves.set_from_ranks(0.2, ranks, found)
        assert (found == 20 - np.searchsorted(from_it_on, ranks)).all()


@pytest.mark.laws
def test_runs_find_the_evidence():
    """Within 4 standard errors of both: of the run, and of the mean over two million draws of the reference."""
    target = small()
    log_densities = np.concatenate([logs_of(target, draws_of(target, seed=k)(500_000))[:, 1] for k in range(4)])
    weights = np.exp(log_densities - log_densities.max())
    exact, error = (
        math.log(weights.mean()) + log_densities.max(),
        weights.std() / weights.mean() / math.sqrt(len(log_densities)),
    )
    estimate = sterna.sample(target, n_chains=6, n_rounds=12, n_copies=1, progress=False).log_evidence
    assert math.hypot(estimate.error, error) < 0.1
    assert abs(estimate.value - exact) < 4 * math.hypot(estimate.error, error)
