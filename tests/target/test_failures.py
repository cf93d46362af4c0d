"""Errors name the function of the user that failed, whatever its kind, compiled or not."""

import re

import numpy as np
import pytest
from ways import WAYS, AsPython

import sterna
from sterna.engine import callback
from sterna.target.failures import find_failure

REFERENCE = {"x": sterna.Normal(0, 1, shape=2)}
SPACE = {"x": sterna.Real(shape=2)}


def flat(x):
    return 0.0


# They fail everywhere that a run goes, but have a value elsewhere, without which Numba would not compile them.


def fail(value):
    if value < 1e9:
        raise ValueError("it failed")
    return 0.0


def failing(x):
    return fail(x[0])


def failing_change(x, i, new):
    return fail(new)


def failing_gradient(x):
    if x[0] < 1e9:
        raise ValueError("it failed")
    return x


def flat_gradient(x):
    return 0.0 * x


def out_of_bounds(x):
    return x[int(abs(x[0])) + 10]


def draw(rng):
    return rng.normal(0.0, 1.0, 2)


def failing_draw(rng):
    # not at the first call, by which a target finds the shape of a draw
    if rng.random() < 0.6:
        raise ValueError("it failed")
    return np.ones(2)


def failing_move(x, log_density, rng):
    raise ValueError("it failed")


def sample(target, explorer="slice"):
    with pytest.raises(sterna.EvaluationError) as caught:
        sterna.sample(target, explorer=explorer, n_chains=3, n_rounds=3, progress=False)
    return str(caught.value)


@WAYS
def test_likelihood_is_named_also_if_a_function_that_it_calls_fails(way):
    text = sample(sterna.Target(way(failing), REFERENCE))
    assert re.match(r"log_likelihood raised ValueError: it failed at x=\[.*\]\. Return -inf where the likelihood", text)


@WAYS
def test_local_change_is_named(way):
    text = sample(sterna.Target(flat, REFERENCE, local_change=way(failing_change)))
    assert text.startswith("local_change raised ValueError: it failed at x=")
    assert "Fix the function" in text


@WAYS
def test_density_of_the_reference_is_named(way):
    text = sample(sterna.Target(flat, sterna.Reference(draw, way(failing), SPACE)))
    assert text.startswith("The reference's log_density raised ValueError: it failed at x=")
    assert "Return -inf where the density is zero" in text


@WAYS
def test_draw_is_named_without_the_state_that_it_did_not_draw(way):
    text = sample(sterna.Target(flat, sterna.Reference(way(failing_draw), flat, SPACE)))
    assert text.startswith("The reference's draw raised ValueError: it failed. Fix the function")
    assert "x=" not in text


def test_draw_that_fails_at_once_is_named_when_the_target_is_made():
    def failing_at_once(rng):
        return 1 / 0

    for space in (SPACE, None):
        with pytest.raises(sterna.TargetError, match="The reference's draw raised ZeroDivisionError: division by zero"):
            sterna.Target(flat, sterna.Reference(failing_at_once, flat, space))


@WAYS
def test_move_is_named(way):
    text = sample(sterna.Target(flat, REFERENCE), explorer=way(failing_move))
    assert re.match(r"The move failing_move raised ValueError: it failed.* at x=", text)


@WAYS
@pytest.mark.parametrize("of_reference", [False, True])
def test_gradient_is_named(way, of_reference):
    first, second = (way(failing_gradient), flat_gradient) if of_reference else (flat_gradient, way(failing_gradient))
    target = sterna.Target(flat, sterna.Reference(draw, flat, SPACE, first), gradient=second)
    prepared, state = target.prepare(), np.ones(2)
    with pytest.raises(ValueError, match="it failed") as caught:
        prepared.gradient(state)
    label, _ = prepared.failure(state, caught.value)
    assert label == ("the reference's gradient" if of_reference else "gradient")


def test_compiled_code_without_a_place_is_found_by_calling_again():
    """Numba does not say where an index was out of bounds; Python also says which index it was."""
    target = sterna.Target(out_of_bounds, REFERENCE, local_change=failing_change)
    assert target.compiled
    text = sample(target)
    assert text.startswith("log_likelihood raised IndexError: index 1")


def test_several_candidates_are_all_named():
    target = sterna.Target(flat, sterna.Reference(draw, flat, SPACE), local_change=failing_change).prepare()
    label, _ = target.failure(np.ones(2), KeyError("of nobody"))
    assert label == "local_change or the reference's draw"


def test_the_first_function_that_fails_counts():
    """A move calls the likelihood, whose error passes through both."""
    inner = callback.register(failing)
    outer = callback.register(lambda x: callback.call_python(inner, x))
    try:
        with pytest.raises(ValueError, match="it failed") as caught:
            callback.call_python(outer, np.ones(2))
        assert callback.failed_handle(caught.value) == inner
    finally:
        callback.forget([inner, outer])


def test_errors_that_refuse_attributes_pass_unchanged():
    class ClosedError(Exception):
        def __setattr__(self, name, value):
            raise AttributeError("closed")

    def raise_closed():
        raise ClosedError

    handle = callback.register(raise_closed)
    try:
        with pytest.raises(ClosedError) as caught:
            callback.call_python(handle)
    finally:
        callback.forget([handle])
    assert callback.failed_handle(caught.value) == 0
    assert find_failure(caught.value, [], np.ones(2), None)[0] == "the target"


def test_conditional_is_named():
    def conditional(i, beta, z):
        raise ValueError("it failed")

    target = sterna.Target(lambda z: 0.0, {"z": sterna.Bernoulli(0.5, shape=2)})
    with pytest.raises(sterna.EvaluationError, match=r"conditional raised ValueError: it failed at i=0 and beta=.*z="):
        sterna.sample(target, explorer=sterna.Gibbs(conditional=conditional), n_chains=3, n_rounds=2, progress=False)


@pytest.mark.parametrize("n_copies", [1, 2])
def test_stop_iteration_is_named_with_its_point(n_copies):
    def exhausted(x):
        return next(iter([]))

    with pytest.raises(sterna.EvaluationError, match=r"^log_likelihood raised StopIteration at x=\[") as caught:
        sterna.sample(exhausted, REFERENCE, n_chains=3, n_rounds=2, n_copies=n_copies, progress=False, explorer="slice")
    assert isinstance(caught.value.__cause__, StopIteration)


def test_errors_without_a_readable_message_are_named_with_their_point():
    class UnreadableError(Exception):
        def __str__(self):
            raise RuntimeError("no message")

    def log_likelihood(x):
        raise UnreadableError

    text = sample(sterna.Target(AsPython(log_likelihood), REFERENCE))
    assert re.match(
        r"log_likelihood raised UnreadableError: \(no message, because its __str__ raised RuntimeError\) at x", text
    )


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (type("Model", (), {}), "log_likelihood is the class Model"),
        (3, "log_likelihood=3 is not a function"),
    ],
)
def test_what_is_no_function_is_named(function, words):
    with pytest.raises(sterna.TargetError, match=words):
        sterna.Target(function, REFERENCE)


def test_functions_that_return_nothing_when_called_are_refused():
    async def later(x):
        return 0.0

    def several(x):
        yield 0.0

    for function, words in ((later, "later is an async function"), (several, "several is a generator.*write return")):
        for given in ({"log_likelihood": function}, {"log_likelihood": flat, "gradient": function}):
            with pytest.raises(sterna.TargetError, match=words):
                sterna.Target(**given, reference=REFERENCE)
