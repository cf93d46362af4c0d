"""A move of the user's own sees the right law, and leaves the right log-densities.

Laws are compared from exact draws after ten moves, each comparison by Kolmogorov and Smirnov or chi-square at 1e-6:
below 1e-4 for the whole file. Runs are within 4 standard errors, a false alarm of 6e-5 each.
"""

import gc
import itertools
import math
import weakref

import numpy as np
import pytest
from annealed import CENTRE, PRECISION, law
from invariance import p_values, walk
from kernels import apply_bound
from plain import load
from quick import first
from scipy import stats
from scipy.special import logsumexp
from signals import python_calls_on_freeing
from ways import WAYS, AsPython, compiled

import sterna
from sterna.engine import callback
from sterna.engine.moves import MoveConstants
from sterna.engine.program import EVALUATIONS
from sterna.explorers.move import Move
from sterna.run.given import as_explorer

LEVEL = 1e-6
BETAS = [0.0, 0.1, 0.5, 1.0]
DRAWS = 20_000


def is_compiled(bound):
    return bound.data[1][MoveConstants.move_handle] == 0


FAULTS = {
    "not annealed": ("annealed(found[LOG_REFERENCE], beta, ", "annealed(found[LOG_REFERENCE], 1.0, "),
    "reference left out": ("annealed(found[LOG_REFERENCE], beta, ", "annealed(0.0, beta, "),
    "states mistaken for each other": ("return k == count", "return k > 0 or k == count"),
    "log_densities of the start": ("found[LOG_REFERENCE] = reference", "pass"),
}


@pytest.mark.parametrize("fault", first(2, FAULTS))
def test_planted_faults_are_caught(fault):
    faulty = load("explorers/move.py", [FAULTS[fault]], compiled=True).Move

    def one_coordinate(x, log_density, rng):
        other = x.copy()
        other[rng.integers(0, x.size)] += rng.normal()
        if math.log(rng.random()) < log_density(other) - log_density(x):
            x[:] = other

    assert min(p_values(Move(one_coordinate), "gaussian", 0.5, DRAWS)) > LEVEL
    try:
        found = min(p_values(faulty(one_coordinate), "gaussian", 0.5, DRAWS))
    except AssertionError:
        # log-densities that are not those of the states
        found = 0.0
    assert found < LEVEL


# A spin, a category of probability zero among three, and an integer: 18 states, one of which has likelihood zero.
DISCRETE = {
    "s": sterna.Spin(0.3),
    "c": sterna.Categorical([0.4, 0.0, 0.6]),
    "k": sterna.DiscreteUniform(-1, 1),
}


def discrete_terms(s, c, k):
    if s == 1 and c == 2 and k == 0:
        return -np.inf
    return 0.8 * s * k + 0.5 * c * s - 0.3 * k


def flip(x, log_density, rng):
    """Flip the spin and mirror the integer, or step along the category."""
    other = x.copy()
    if rng.random() < 0.5:
        other[0] = -x[0]
        other[2] = -x[2]
    else:
        other[1] = (x[1] + 1.0 + rng.integers(0, 2)) % 3
    if math.log(rng.random()) < log_density(other) - log_density(x):
        x[:] = other


def discrete_law(target, beta):
    states = np.array(list(itertools.product([-1.0, 1.0], [0.0, 1.0, 2.0], [-1.0, 0.0, 1.0])))
    log_densities = np.array([target.log_densities(x) for x in states])
    annealed = log_densities[:, 0] + (beta * log_densities[:, 1] if beta > 0 else 0.0)
    return states, annealed


def metropolis_matrix(states, annealed):
    """The transition matrix of `flip`, worked out by hand; rows of probability zero are left out."""
    number = {tuple(x): k for k, x in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for k, (s, c, n) in enumerate(states):
        if annealed[k] == -np.inf:
            continue
        ways = [((-s, c, -n), 0.5), ((s, (c + 1) % 3, n), 0.25), ((s, (c + 2) % 3, n), 0.25)]
        for end, probability in ways:
            accepted = math.exp(min(0.0, annealed[number[end]] - annealed[k]))
            matrix[k, number[end]] += probability * accepted
            matrix[k, k] += probability * (1.0 - accepted)
    return matrix


@pytest.mark.parametrize("beta", BETAS)
def test_the_transition_matrix_of_a_small_target(beta):
    """Every row against 4000 moves from its state: at most 16 rows at 1e-7 each."""
    target, times = sterna.Target(discrete_terms, DISCRETE), 4000
    states, annealed = discrete_law(target, beta)
    matrix = metropolis_matrix(states, annealed)
    law = np.exp(annealed - logsumexp(annealed))
    assert np.abs(law @ matrix - law).max() < 1e-12
    number = {tuple(x): k for k, x in enumerate(states)}
    possible = np.flatnonzero(law > 0)
    after, log_densities, _ = apply_bound(
        target, Move(flip).bind(target), np.repeat(states[possible], times, axis=0), beta, times=1
    )
    ends = np.array([number[tuple(x)] for x in after]).reshape(-1, times)
    for row, k in zip(ends, possible, strict=True):
        counts, wanted = np.bincount(row, minlength=len(states)), matrix[k]
        assert counts[wanted == 0].sum() == 0
        assert stats.chisquare(counts[wanted > 0], times * wanted[wanted > 0]).pvalue > 1e-7
    # one evaluation if the proposal is possible, and none if the reference is zero there
    assert set(log_densities[:, EVALUATIONS]) == {0.0, 1.0}


def evaluations(function, beta=0.5):
    """Numbers of evaluations of one move from each of 300 draws."""
    chosen = law("gaussian")
    states = chosen.draw(beta, 300, np.random.default_rng(1))
    after, log_densities, _ = apply_bound(chosen.target, Move(function).bind(chosen.target), states, beta, times=1)
    for state, found in zip(after, log_densities, strict=True):
        assert found[:2] == pytest.approx(chosen.target.log_densities(state), rel=1e-12)
    return states, after, log_densities[:, EVALUATIONS]


@WAYS
def test_nothing_is_evaluated_twice(way):
    def nothing(x, log_density, rng):
        if log_density(x) == -np.inf:
            x[0] = 0.0

    def silent(x, log_density, rng):
        x[1] = 0.5

    def steps(x, log_density, rng):
        """Rejections in between make the present state neither the start nor the last one asked for."""
        here = log_density(x)
        for _ in range(10):
            other = x + 0.3 * rng.standard_normal(x.size)
            there = log_density(other)
            if rng.random() < 0.3:
                x[:] = other
                here = there
        if log_density(x) != here:
            x[0] = np.nan

    def there_and_back(x, log_density, rng):
        before = x.copy()
        for _ in range(5):
            x += 0.1
            log_density(x)
        x[:] = before

    states, after, counts = evaluations(way(nothing))
    assert np.array_equal(states, after)
    assert (counts == 0).all()
    assert (evaluations(way(silent))[2] == 1).all()
    assert (evaluations(way(steps))[2] == 10).all()
    states, after, counts = evaluations(way(there_and_back))
    assert np.array_equal(states, after)
    assert (counts == 5).all()


@WAYS
def test_where_the_reference_is_zero_nothing_is_evaluated(way):
    def likelihood(p, n):
        if not 0 < p < 1 or n < 0 or n != math.floor(n):
            raise ValueError("outside")
        return 0.1 * n + p

    def outside(x, log_density, rng):
        for p, n in ((-0.1, 1.0), (1.1, 1.0), (0.5, -1.0), (0.5, 1.5), (np.nan, 1.0), (0.5, np.inf)):
            if log_density(np.array([p, n])) != -np.inf:
                x[0] = 2.0

    target = sterna.Target(likelihood, {"p": sterna.Beta(2, 2), "n": sterna.Poisson(3.0)})
    states = np.array([[0.3, 2.0], [0.6, 0.0]])
    after, log_densities, _ = apply_bound(target, Move(way(outside)).bind(target), states, 1.0, times=1)
    assert np.array_equal(after, states)
    assert (log_densities[:, EVALUATIONS] == 0).all()


def draws_of_all_kinds(x, log_density, rng):
    other = x.copy()
    other[rng.integers(0, x.size)] += rng.normal(0.0, 0.5) + 0.1 * rng.exponential() - 0.1
    other[rng.integers(0, x.size)] += rng.uniform(-0.5, 0.5)
    if rng.random() < math.exp(min(0.0, log_density(other) - log_density(x))):
        x[:] = other


def bits(explorer, **options):
    chosen = law("gaussian")
    options = {"n_chains": 5, "n_rounds": 5, "n_copies": 3, "progress": False, **options}
    result = sterna.sample(chosen.target, explorer=explorer, **options)
    parts = [result.log_likelihood, result.posterior["x"].values, result.schedule, np.array([result.evaluations])]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def test_compiled_and_python_moves_give_the_same_bits_for_any_number_of_threads():
    first = bits(sterna.Cycle(sterna.Slice(), draws_of_all_kinds, sterna.Slice(passes=0.4)), workers=1)
    for move, workers in itertools.product((draws_of_all_kinds, AsPython(draws_of_all_kinds)), (1, 2)):
        assert bits(sterna.Cycle(sterna.Slice(), move, sterna.Slice(passes=0.4)), workers=workers) == first
    assert bits(draws_of_all_kinds) == bits(AsPython(draws_of_all_kinds), workers=2) != first
    assert bits(sterna.Mix(sterna.Slice(), draws_of_all_kinds)) == bits(
        sterna.Mix(sterna.Slice(), AsPython(draws_of_all_kinds))
    )
    other = sterna.Target(lambda x: -0.5 * np.sum(x * x), {"x": sterna.Normal(shape=2)})
    result = sterna.sample(other, explorer=AsPython(draws_of_all_kinds), n_rounds=2, progress=False)
    assert any("The move draws_of_all_kinds runs as Python, not compiled" in note for note in result.notes)
    # said of the run, not of the target
    assert other.compiled
    assert sterna.sample(other, n_rounds=2, progress=False).notes == []


@WAYS
def test_a_block_has_its_own_coordinates_and_the_rest_stays(way):
    """The law of (z, k) given x, and of x given both, by what the move reads of the others."""
    chosen, beta = law("mixed"), 0.7

    def exact_draw(x, log_density, rng, z, beta):
        """x given z is normal, so that this needs no acceptance."""
        precision = 0.25 + beta
        x[0] = (beta + 1.5 * beta * z) / precision + rng.normal() / math.sqrt(precision)

    states = chosen.draw(beta, 4000 if way is compiled else 1500, np.random.default_rng(2))
    bound = Move(way(exact_draw)).bind(chosen.target, np.array([1]))
    after, log_densities, _ = apply_bound(chosen.target, bound, states, beta, times=1)
    assert np.array_equal(after[:, [0, 2]], states[:, [0, 2]])
    assert (after[:, 1] != states[:, 1]).all()
    assert min(stats.kstest(column, "uniform").pvalue for column in chosen.uniforms(beta, after)) > LEVEL
    assert (log_densities[:, EVALUATIONS] == 1).all()


@WAYS
def test_variables_by_name_keep_their_values_during_the_move(way):
    def reads(x, log_density, rng, v, n):
        first, number = v[0], n
        log_density(x + 1.0)
        x += 2.0
        log_density(x)
        if v[0] != first or n != number or x[0] != first + 2.0:
            x[0] = np.nan

    target = sterna.Target(lambda v, n: -v[0] * n, {"v": sterna.Exponential(1.0, shape=2), "n": sterna.Poisson(4.0)})
    bound = Move(way(reads)).bind(target)
    after, log_densities, _ = apply_bound(target, bound, [[0.5, 1.5, 3.0]], 1.0, times=1)
    assert after.tolist() == [[2.5, 3.5, 5.0]]
    assert log_densities[0, 1] == -12.5
    assert is_compiled(bound) == (way is compiled)


def test_a_move_that_cannot_be_compiled_says_why():
    def one_bound(x, log_density, rng):
        x[0] = rng.integers(4) + 0.5

    target = sterna.Target(lambda mu: -mu, {"mu": sterna.Exponential(1.0)})
    (note,) = sterna.sample(target, explorer=one_bound, n_rounds=2, progress=False).notes
    assert note.startswith("The move one_bound runs as Python, not compiled: compiled code needs both bounds")


@pytest.mark.parametrize("name", ["normal", "ising"])
def test_moves_on_models(name):
    """All coordinates of both change their sign at no cost, and the log-densities stay as they are."""
    target = getattr(sterna.models, name)()
    states = np.ones((3, target.dimension))

    def turn(x, log_density, rng):
        other = -x
        if log_density(other) > log_density(x) - 1e-9:
            x[:] = other

    after, log_densities, _ = apply_bound(target, Move(turn).bind(target), states, 0.5, times=1)
    assert np.array_equal(after, -states)
    assert log_densities[0, :2] == pytest.approx(target.log_densities(states[0]), rel=1e-12)


def test_data_beta_and_variables_are_passed_by_name():
    seen = []

    class Spy:
        def __call__(self, x, log_density, rng, scale, beta, mu, n=7, *, y):
            seen.append((x.copy(), scale, beta, mu, n, y, log_density(x), type(rng)))

    data = {"y": np.array([1.0, 2.0]), "scale": 2.0}
    target = sterna.Target(lambda mu, y, scale: -np.sum((y - mu) ** 2) / scale, {"mu": sterna.Normal()}, data)
    apply_bound(target, Move(Spy()).bind(target), [[0.5]], 0.25, times=1)
    x, scale, beta, mu, n, y, density, kind = seen[0]
    assert (x.tolist(), scale, beta, mu, n, y.tolist()) == ([0.5], 2.0, 0.25, 0.5, 7, [1.0, 2.0])
    reference, likelihood = target.log_densities(mu=0.5)
    assert density == pytest.approx(reference + 0.25 * likelihood, rel=1e-15)
    assert kind is np.random.Generator

    def own_beta(x, log_density, rng, beta):
        x[0] = beta[1]

    named = sterna.Target(lambda mu, beta: -mu * beta[0], {"mu": sterna.Exponential(1)}, {"beta": np.array([1.0, 3.5])})
    after, _, _ = apply_bound(named, Move(own_beta).bind(named), [[0.5]], 0.25, times=1)
    assert after.tolist() == [[3.5]]


def test_compiled_moves_may_ask_at_any_vector_of_numbers_and_pass_the_density_on():
    def helper(density, point):
        return density(point)

    def asks(x, log_density, rng):
        turned = log_density(x[::-1])
        whole = log_density(np.array([1, 2, 3]))
        with_float = helper(log_density, np.array([1.0, 2.0, 3.0]))
        short = log_density(x.astype(np.float32))
        if whole == with_float and abs(short - log_density(x)) < 1e-3 and turned < 0.0:
            x[0] = 0.25

    chosen = law("gaussian")
    states = np.array([[0.5, -0.25, 1.0]])
    bound = Move(asks).bind(chosen.target)
    after, _, _ = apply_bound(chosen.target, bound, states, 0.5, times=1)
    assert after.tolist() == [[0.25, -0.25, 1.0]]
    assert is_compiled(bound)


def test_functions_are_moves_everywhere():
    target = law("gaussian").target
    assert as_explorer(walk, target) == Move(walk)
    assert Move(walk).name == "walk"
    assert sterna.Cycle(sterna.Slice(), walk).explorers[1] == Move(walk)
    assert sterna.Mix(walk, sterna.Slice()).explorers[0] == Move(walk)
    assert as_explorer({"x": walk}, target).name == "x: walk"


def rank_one(x, y):
    total = 0.0
    for i in range(x.size):
        for j in range(i):
            total += (y[i, j] - x[i] * x[j]) ** 2
    return -50.0 * total


def flip_sign(x, log_density, rng):
    other = -x
    if rng.random() < 0.5 * math.exp(min(0.0, log_density(other) - log_density(x))):
        x[:] = other


def test_a_move_between_mirrored_modes_mixes_what_swaps_alone_mix_slowly():
    """A factor of a matrix is known up to its sign, and half of the flips are accepted.

    The share of about 1000 scans in which the sign changes: 0.4 is six standard deviations below a half.
    """
    truth = np.array([1.0, -0.8, 1.2, 0.6, -1.1, 0.9])
    target = sterna.Target(rank_one, {"x": sterna.Normal(0, 2, shape=6)}, {"y": np.outer(truth, truth)})
    changes = {}
    for name, explorer in (("slice", sterna.Slice()), ("both", sterna.Cycle(sterna.Slice(), flip_sign))):
        result = sterna.sample(target, explorer=explorer, n_rounds=9, progress=False)
        side = np.sign(result.posterior["x"].values.reshape(-1, 6)[:, 0])
        changes[name] = np.mean(side[1:] != side[:-1])
    assert changes["both"] > 0.4
    assert changes["slice"] < 0.2


def check_run(explorer):
    """A whole run on a correlated normal law: evidence and two moments, each within 4 standard errors."""
    chosen = law("gaussian")
    result = sterna.sample(chosen.target, explorer=explorer, n_chains=5, n_rounds=9, n_scans=20_000, progress=False)
    whole = 0.25 * np.eye(3) + PRECISION
    mean = np.linalg.solve(whole, PRECISION @ CENTRE)
    exponent = 0.5 * mean @ whole @ mean - 0.5 * CENTRE @ PRECISION @ CENTRE
    exact = exponent - 0.5 * np.linalg.slogdet(4.0 * whole)[1]
    found = result.log_evidence
    assert abs(found.value - exact) < 4 * found.error
    draws = result.posterior["x"].values.reshape(-1, 3)[:, 0]
    for values, truth in ((draws, mean[0]), ((draws - mean[0]) ** 2, np.linalg.inv(whole)[0, 0])):
        batches = [part.mean() for part in np.array_split(values, 40)]
        assert stats.ttest_1samp(batches, truth).pvalue > 6e-5


@pytest.mark.parametrize(
    "explorer",
    [walk, sterna.Cycle(sterna.Slice(passes=0.5), walk), sterna.Mix(sterna.Slice(), Move(walk)), {"x": walk}],
    ids=["alone", "cycle", "mix", "dict"],
)
def test_runs_find_evidence_and_moments(explorer):
    check_run(explorer)


def test_a_run_by_blocks():
    """Of a discrete target, whose evidence is a sum."""
    target = sterna.Target(lambda s, c, k: 1.2 * s * k + 0.5 * c * s, DISCRETE)
    _, annealed = discrete_law(target, 1.0)

    def flip_spin(x, log_density, rng):
        other = -x
        if math.log(rng.random()) < log_density(other) - log_density(x):
            x[:] = other

    explorer = {"s": flip_spin, ("c", "k"): sterna.Slice()}
    estimate = sterna.sample(target, explorer=explorer, n_rounds=11, progress=False).log_evidence
    assert abs(estimate.value - logsumexp(annealed)) < 4 * estimate.error


SPACE = {
    "mu": sterna.Uniform(-1, 1),
    "n": sterna.Poisson(3.0),
    "s": sterna.Spin(),
    "p": sterna.Dirichlet([1.0, 1.0, 1.0]),
}


def wide(mu, n, s, p):
    return -np.inf if mu > 0.5 else 0.1 * n


def leave(place, value):
    def bad(x, log_density, rng):
        x[place] = value

    return bad


@WAYS
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 1.5, "mu=1.5, outside its space from -1 to 1"),
        (0, math.nan, "mu=nan, which is not a number"),
        (0, 0.75, "where the density is zero"),
        (1, 2.5, "n=2.5, which is not an integer"),
        (1, -1.0, "n=-1, outside its space from 0 to"),
        (2, 0.0, "s=0, which is neither -1 nor 1"),
        (4, 3.0, "coordinate 1 of p=3, outside"),
    ],
)
def test_states_at_which_a_move_must_not_end(way, place, value, message):
    target = sterna.Target(wide, SPACE)
    with pytest.raises(sterna.EvaluationError) as caught:
        sterna.sample(target, explorer=way(leave(place, value)), n_rounds=2, progress=False)
    text = str(caught.value)
    assert text.startswith("The move bad left ")
    assert message in text
    assert "log_density(x) above -inf" in text
    assert "This happened at mu=" in text


@WAYS
def test_a_vector_of_another_length(way):
    def short(x, log_density, rng):
        log_density(x[:2])

    with pytest.raises(sterna.EvaluationError, match="The move short called log_density with a vector of length 2"):
        sterna.sample(sterna.Target(wide, SPACE), explorer=way(short), n_rounds=2, progress=False)

    def number(x, log_density, rng):
        log_density(x[0])

    with pytest.raises(sterna.EvaluationError, match="it takes a vector like x"):
        sterna.sample(sterna.Target(wide, SPACE), explorer=way(number), n_rounds=2, progress=False)


@WAYS
def test_what_a_move_returns_and_raises(way):
    def returns(x, log_density, rng):
        return x + 1.0

    with pytest.raises(sterna.EvaluationError, match=r"The move returns returned array.*write the new state into x"):
        sterna.sample(law("gaussian").target, explorer=way(returns), n_rounds=2, progress=False)

    def fails(x, log_density, rng):
        x[17] = 0.0

    with pytest.raises(sterna.EvaluationError, match=r"[Tt]he move fails raised IndexError.* at x="):
        sterna.sample(law("gaussian").target, explorer=way(fails), n_rounds=2, progress=False)


@WAYS
def test_errors_of_the_target_name_the_point_asked_for(way):
    def likelihood(mu):
        if mu == 0.125:
            return np.nan
        if mu == 0.25:
            raise ValueError("no such point")
        return 0.0

    def asks(x, log_density, rng, at):
        log_density(np.array([at]))

    for at, message in (
        (0.125, "The log-likelihood is NaN at mu=0.125"),
        (0.25, "ValueError: no such point at mu=0.25"),
    ):
        target = sterna.Target(way(likelihood), {"mu": sterna.Uniform(0, 1)}, {"at": at})
        with pytest.raises(sterna.EvaluationError, match=message) as caught:
            sterna.sample(target, explorer=way(asks), n_rounds=2, progress=False)
        assert not str(caught.value).startswith("The move")


def test_a_log_density_that_was_kept_is_an_error():
    """Its record is memory of the run, which other calls use and the end of the run frees."""
    kept, last, generators = [], [], []

    def keeps(x, log_density, rng):
        generators.append(rng)
        if kept:
            last.append(x.copy())
            kept[0](x)
        kept.append(log_density)

    message = r"log_density was called after the call of the move keeps that it was passed to had returned"
    with pytest.raises(sterna.EvaluationError, match=message):
        sterna.sample(law("gaussian").target, explorer=AsPython(keeps), n_rounds=2, progress=False)
    with pytest.raises(sterna.EvaluationError, match=message):
        kept[0](last[0])
    # a generator that was kept is an ordinary one
    assert 0.0 <= generators[0].random() < 1.0


def test_wrong_functions_are_refused():
    target = law("gaussian").target
    for given in (3, sterna.Slice, None):
        with pytest.raises(sterna.OptionError, match="give a function, def move"):
            Move(given)
    with pytest.raises(sterna.OptionError, match=r"is a class: give an explorer, sterna.Slice"):
        as_explorer(sterna.Slice, target)
    with pytest.raises(sterna.OptionError, match=r"The move <lambda>\(x, log_density\) has too few parameters"):
        as_explorer(lambda x, log_density: None, target)
    with pytest.raises(sterna.OptionError, match="parameters of this function are not known"):
        Move(max)
    with pytest.raises(sterna.TargetError, match="neither a variable"):
        Move(lambda x, log_density, rng, q: None).bind(target)
    with pytest.raises(sterna.TargetError, match="in the places of the log-density and the generator"):
        Move(lambda x, precision, centre: None).bind(target)
    with pytest.raises(sterna.TargetError, match="by name"):
        Move(lambda x, log_density, rng, *rest: None).bind(target)


def test_a_move_does_not_keep_its_target():
    target = sterna.Target(lambda mu: -mu * mu, {"mu": sterna.Normal()})
    gc.collect()
    before = len(callback._functions)
    bound = Move(AsPython(walk)).bind(target)
    assert len(callback._functions) == before + 2
    gone = weakref.ref(target)
    objects = [target, bound]
    del target, bound
    # such code would handle signals, and Python ignores what a handler raises there
    assert python_calls_on_freeing(objects) == []
    assert gone() is None
    assert len(callback._functions) == before
