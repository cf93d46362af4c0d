"""The rules by which a chain is added to a ladder, against their formulas, and faults that these checks must find."""

import math

import numpy as np
import pytest

from sterna.engine.added_chain import (
    ARR,
    MMV,
    WINDOW,
    Progress,
    beta_below,
    gain,
    is_on_target,
    mean_acceptance,
    new_adaptation,
    next_rho,
    remember,
)


def check_parametrization(below):
    """ARR: log(beta/beta' - 1) is rho; MMV: log(1/beta' - 1/beta) is rho (Miasojedow et al. 2013)."""
    for beta in (1.0, 0.3, 1e-3):
        for rho in (-3.0, 0.0, 1.0, 8.0):
            assert math.log(beta / below(ARR, beta, rho) - 1) == pytest.approx(rho, abs=1e-9)
            assert math.log(1 / below(MMV, beta, rho) - 1 / beta) == pytest.approx(rho, abs=1e-9)


def check_updates(update):
    for n in (0, 1, 9, 99_999):
        for accepted in (0.0, 0.23, 0.9):
            assert update(ARR, 1.0, n, accepted) == pytest.approx(1.0 + (accepted - 0.23) / (n + 1))
            assert update(MMV, 1.0, n, accepted) == pytest.approx(1.0 + (accepted - 0.23) / (n + 1) ** 0.6)


def test_rules_are_those_of_the_papers():
    check_parametrization(beta_below)
    check_updates(next_rho)
    assert [gain(rule, 0) for rule in (ARR, MMV)] == [1.0, 1.0]


@pytest.mark.parametrize(
    "fault",
    [
        lambda rule, beta, rho: beta_below(ARR, beta, rho),
        lambda rule, beta, rho: beta_below(MMV, beta, rho),
        lambda rule, beta, rho: beta_below(rule, beta, -rho),
    ],
)
def test_planted_faults_of_the_map_are_found(fault):
    with pytest.raises(AssertionError):
        check_parametrization(fault)


@pytest.mark.parametrize(
    "fault",
    [
        lambda rule, rho, n, accepted: next_rho(rule, rho, n, 0.46 - accepted),
        lambda rule, rho, n, accepted: next_rho(MMV, rho, n, accepted),
        lambda rule, rho, n, accepted: next_rho(rule, rho, n + 1, accepted),
    ],
)
def test_planted_faults_of_the_update_are_found(fault):
    with pytest.raises(AssertionError):
        check_updates(fault)


def interval(values):
    error = 1.645 * np.std(values, ddof=1) / math.sqrt(len(values))
    return np.mean(values) - error, np.mean(values) + error


def test_a_chain_is_done_if_the_interval_of_its_last_steps_is_near():
    """Against the interval of the last values, computed again at every step."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.beta(0.5, 3.0, 700), rng.beta(0.6, 2.0, 1500), rng.beta(3.0, 1.0, 800)])
    adaptation = new_adaptation()
    seen = set()
    for n, value in enumerate(values, 1):
        remember(adaptation, value)
        recent = values[max(0, n - WINDOW) : n]
        assert mean_acceptance(adaptation) == pytest.approx(recent.mean(), abs=1e-12)
        if n < 2:
            assert not is_on_target(adaptation)
            continue
        low, high = interval(recent)
        if min(abs(low - 0.18), abs(high - 0.28)) > 1e-9:
            assert is_on_target(adaptation) == (low >= 0.18 and high <= 0.28)
            seen.add(is_on_target(adaptation))
    assert seen == {True, False}
    assert adaptation.progress[Progress.steps] == len(values)


def test_one_step_has_no_interval():
    adaptation = new_adaptation()
    remember(adaptation, 0.23)
    assert not is_on_target(adaptation)
