"""A reference that is fitted between rounds: whoever evaluates must know the new one."""

import numpy as np
import pytest
from ways import AsPython

import sterna
from sterna.workers import remote

OPTIONS = {"n_chains": 5, "n_rounds": 5, "seed": 3, "progress": False, "explorer": "slice"}
REFERENCE = sterna.FittedReference({"a": sterna.Real(), "b": sterna.Real(lower=0)})


def log_density(a, b):
    return -0.5 * (a - 3.0) ** 2 - b


def together(a, b):
    return -0.5 * (a - 3.0) ** 2 - b


def bits(function, **options):
    result = sterna.sample(function, REFERENCE, **OPTIONS, **options)
    return result.posterior["a"].values.tobytes() + np.array(result.log_evidence.value).tobytes()


def test_processes_and_batches_know_the_new_reference():
    first = bits(AsPython(log_density))
    assert bits(AsPython(log_density), workers=2) == first
    assert bits(together, vectorized=True) == first


def test_an_old_reference_would_be_seen(monkeypatch):
    """Planted fault: workers keep the first."""
    first = bits(AsPython(log_density))
    monkeypatch.setattr("sterna.workers.choice.Teams.renew", lambda self: None)
    assert bits(AsPython(log_density), workers=2) != first


def test_a_renewed_function_has_another_key():
    captured = [1.0]

    def function():
        return captured[0]

    sent = remote.RemoteFunction(function)
    jobs = [sent.job(())[0]]
    captured[0] = 2.0
    sent.renew()
    jobs.append(sent.job(())[0])
    assert jobs[0] != jobs[1]
    assert remote.evaluate(*sent.job((), again=True)) == (remote.DONE, 2.0)


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
        sterna.sample(alone, reference, **OPTIONS),
        sterna.sample(rows, reference, vectorized=vectorized, **OPTIONS),
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])


def test_a_batch_of_gradients_is_pulled_back():
    """To the fitted law's own coordinates, and through the simplex."""
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


def test_thinning_does_not_thin_what_is_fitted():
    runs = [sterna.sample(log_density, REFERENCE, thin=thin, **OPTIONS) for thin in (1, 20)]
    assert np.array_equal(runs[0].schedule, runs[1].schedule)
    assert np.array_equal(runs[0].posterior["a"][:, 19::20], runs[1].posterior["a"])


def test_a_target_keeps_its_data():
    y = np.array([1.0, 2.0])

    def posterior(a, y):
        return -0.5 * np.sum((y - a) ** 2)

    target = sterna.Target(posterior, sterna.FittedReference({"a": sterna.Real()}), {"y": y})
    y[:] = 50.0
    assert abs(float(sterna.sample(target, **OPTIONS).posterior["a"].mean()) - 1.5) < 2.0
