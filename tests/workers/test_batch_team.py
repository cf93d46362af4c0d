"""Evaluations in batches: the values of single calls, in few calls, and no replica left waiting."""

import numpy as np
import pytest
from quick import first

import sterna
from sterna.workers import batch_team

OPTIONS = {"n_chains": 6, "n_rounds": 5, "seed": 3, "progress": False}
REFERENCE = {"a": sterna.Normal(0, 5), "k": sterna.Poisson(3), "w": sterna.Dirichlet([2.0, 3.0, 4.0])}
SLOPE = np.array([1.0, -2.0, 0.5])


def alone(a, k, w, slope):
    return -0.5 * (abs(a) - 3.0) ** 2 + 0.3 * k + slope[0] * w[0] + slope[1] * w[1] + slope[2] * w[2]


def gradient_alone(a, w, slope):
    return -(abs(a) - 3.0) * np.sign(a), slope


class ManyPoints:
    """The same function of many points at once; it counts the points of each call."""

    def __init__(self):
        self.sizes = []

    def __call__(self, a, k, w, slope):
        self.sizes.append(len(a))
        assert a.shape == k.shape == (len(a),)
        assert w.shape == (len(a), 3)
        return -0.5 * (np.abs(a) - 3.0) ** 2 + 0.3 * k + slope[0] * w[:, 0] + slope[1] * w[:, 1] + slope[2] * w[:, 2]


def gradient_of_many(a, w, slope):
    return -(np.abs(a) - 3.0) * np.sign(a), np.tile(slope, (len(a), 1))


EXPLORERS = {
    "slice": "slice",
    "hmc": {("a", "w"): sterna.HMC(), "k": sterna.Slice()},
}


def run(function, gradient=None, vectorized=False, **options):
    target = sterna.Target(function, REFERENCE, {"slope": SLOPE}, gradient=gradient, vectorized=vectorized)
    result = sterna.sample(target, **OPTIONS | options)
    return result, result.index_process.tobytes() + result.posterior["a"].values.tobytes()


@pytest.mark.parametrize(
    ("vectorized", "explorer"), first(2, [(True, "slice"), ("padded", "hmc"), (True, "hmc"), ("padded", "slice")])
)
def test_batches_give_the_bits_of_single_calls(explorer, vectorized):
    """The function rounds in the same way for one point and for many, so that every draw must be the same."""
    options = {"explorer": EXPLORERS[explorer], "n_copies": 2}
    many = ManyPoints()
    single, first = run(alone, gradient_alone, **options)
    batch, bits = run(many, gradient_of_many, vectorized, **options)
    assert bits == first
    assert single.evaluations == batch.evaluations
    # few calls, because one serves all chains of a copy
    assert len(many.sizes) < batch.evaluations / 2
    if vectorized == "padded":
        # single points are those at which the gradient is compared with differences before the first round
        assert set(many.sizes) == ({1, 6} if explorer == "hmc" else {6})
    else:
        assert max(many.sizes) == 6
    again = ManyPoints()
    assert run(again, gradient_of_many, vectorized, workers=1, **options)[1] == first
    if vectorized is True:
        assert sorted(again.sizes) == sorted(many.sizes)


def test_a_flat_vector_gets_one_more_axis():
    def flat(x):
        return -0.5 * np.sum((np.abs(x) - 2.0) ** 2, axis=1)

    reference = {"p": sterna.Normal(0, 3, shape=2), "q": sterna.Normal(0, 3)}
    result = sterna.sample(flat, reference, vectorized=True, explorer="slice", **OPTIONS)
    assert result.posterior["p"].shape == (1, 62, 2)
    assert "takes many points at once" in " ".join(result.notes)


def test_other_rows_would_be_seen(monkeypatch):
    """Planted fault: answers in another order than the questions."""
    options = {"explorer": {("a", "w"): sterna.Metropolis(), "k": sterna.Metropolis()}}
    _, first = run(alone, **options)

    in_order = batch_team.evaluate_batch

    def shuffled(batch, asking, size):
        answers = [part[::-1] for part in batch.evaluate(np.array([one.state for one in asking]), size)]
        in_order(batch._replace(evaluate=lambda points, size: answers), asking, size)

    monkeypatch.setattr(batch_team, "evaluate_batch", shuffled)
    assert run(ManyPoints(), vectorized=True, **options)[1] != first


def test_a_wrong_shape_is_named():
    with pytest.raises(sterna.TargetError, match=r"returned float64 of shape \(\) for 6 points.*must return 6 numbers"):
        sterna.sample(lambda x: -np.sum(x * x), {"x": sterna.Normal()}, vectorized=True, **OPTIONS)


def test_shapes_that_do_not_fit_are_named():
    data = {"y": np.arange(4.0)}
    with pytest.raises(
        sterna.EvaluationError, match=r"\(x of shape \(6,\)\); beside an array of data, x .* x\[:, None\]"
    ):
        sterna.sample(
            lambda x, y: -np.sum((y - x) ** 2, axis=-1), {"x": sterna.Normal()}, data, vectorized=True, **OPTIONS
        )


@pytest.mark.parametrize("vectorized", [True, "padded"])
def test_points_that_mix_are_noticed(vectorized):
    """Nothing fails and the shapes are right, but each value depends on the other points of the call."""

    def mixes(x):
        return -x * x - np.mean(-x * x)

    with pytest.raises(sterna.TargetError, match=r"for a point among 6, and .* for the same point alone"):
        sterna.sample(mixes, {"x": sterna.Normal()}, vectorized=vectorized, **OPTIONS)


def test_an_error_in_a_batch_ends_the_run():
    def breaks(x):
        if np.any(x > 1.0):
            raise ValueError("too large")
        return -x * x

    with pytest.raises(sterna.EvaluationError, match=r"raised ValueError: too large\..* This happened at x="):
        sterna.sample(breaks, {"x": sterna.Normal(0, 2)}, vectorized=True, n_copies=2, **OPTIONS)


def test_not_a_number_in_a_batch_is_named():
    def breaks(x):
        return np.where(x > 1.0, np.nan, -x * x)

    with pytest.raises(sterna.EvaluationError, match=r"log-likelihood is NaN at x=[1-9]"):
        sterna.sample(breaks, {"x": sterna.Normal(0, 2)}, vectorized=True, **OPTIONS)


def test_vectorized_is_checked():
    with pytest.raises(sterna.TargetError, match="vectorized='yes' is not known"):
        sterna.Target(alone, REFERENCE, {"slope": SLOPE}, vectorized="yes")
    with pytest.raises(sterna.OptionError, match=r"leave out reference= .*data= and vectorized="):
        sterna.sample(sterna.models.normal(), vectorized=True)


def test_a_pool_leaves_local_changes_here():
    """A pool evaluates functions of one point; a local change takes a coordinate too."""

    class Pool:
        def map(self, function, jobs):
            return [function(job) for job in jobs]

    class Whole:
        def __call__(self, x):
            return -float(np.sum(np.abs(x)))

    class Change:
        def __call__(self, x, i, new):
            return float(abs(x[i]) - abs(new))

    target = sterna.Target(Whole(), {"x": sterna.Normal(0, 2, shape=3)}, local_change=Change())
    runs = [sterna.sample(target, explorer="slice", workers=workers, **OPTIONS) for workers in (Pool(), 1)]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])


@pytest.mark.parametrize("vectorized", [True, "padded"])
def test_a_prior_transform_is_applied_to_every_row(vectorized):
    def transform(u):
        return 10.0 * u - 5.0

    reference = sterna.PriorTransform(transform, 2)

    def alone(x):
        return -0.5 * np.sum((np.abs(x) - 2.0) ** 2)

    def rows(x):
        return -0.5 * np.sum((np.abs(x) - 2.0) ** 2, axis=1)

    runs = [
        sterna.sample(alone, reference, explorer="slice", **OPTIONS),
        sterna.sample(rows, reference, explorer="slice", vectorized=vectorized, **OPTIONS),
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])


def test_a_batch_of_gradients_is_pulled_back():
    """To the coordinates of the fitted reference, and through the simplex."""
    reference = sterna.FittedReference(
        {"a": sterna.Real(), "w": sterna.Simplex(3)}, start={"a": 2.0, "w": [0.2, 0.3, 0.5]}
    )

    def alone(a, w):
        return -0.5 * a**2 + w[0] - 2.0 * w[1]

    def slopes(a, w):
        return -a, np.array([1.0, -2.0, 0.0])

    def many(a, w):
        return -0.5 * a**2 + w[:, 0] - 2.0 * w[:, 1]

    def many_slopes(a, w):
        return -a, np.tile([1.0, -2.0, 0.0], (len(a), 1))

    state = np.array([0.3, -0.4, 0.8])
    found = sterna.Target(many, reference, gradient=many_slopes, vectorized=True).gradient(state)
    assert found == pytest.approx(sterna.Target(alone, reference, gradient=slopes).gradient(state), rel=1e-12)
