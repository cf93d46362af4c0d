"""Complete runs on NumPyro models, compared with conjugacy, quadrature and enumeration.

Each of 38 comparisons fails for a correct run with probability 6e-5: a false-alarm rate of 0.002 for the file.
"""

import pytest
from numpyro import handlers
from numpyro_checks import check_case, run_case
from numpyro_models import CASES

import sterna
from sterna.bridges import numpyro_sites

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    check_case(run_case(case.model, case.arguments), case.truth())


@pytest.mark.parametrize("name", ["categories", "censored"])
def test_case_by_gradients(name):
    case = CASES[name]
    check_case(run_case(case.model, case.arguments, explorer=sterna.AutoMALA()), case.truth())


def without_factor(*arguments):
    with handlers.block(hide=["survived"]):
        CASES["censored"].model(*arguments)


class WithoutScale(handlers.scale):
    def process_message(self, msg):
        """Do nothing."""


@pytest.mark.parametrize("fault", ["factor", "scale", "jacobian"])
def test_faults_are_caught(fault, monkeypatch):
    """A missing factor, an ignored scale, a missing Jacobian: each must fail the check that a correct run passes."""
    name = {"factor": "censored", "scale": "normal_normal", "jacobian": "censored"}[fault]
    case = CASES[name]
    model = without_factor if fault == "factor" else case.model
    if fault == "scale":
        monkeypatch.setattr(handlers, "scale", WithoutScale)
    if fault == "jacobian":
        monkeypatch.setattr(numpyro_sites.Site, "log_jacobian", lambda self, stored, found: 0.0)
    with pytest.raises(AssertionError):
        check_case(run_case(model, case.arguments, n_rounds=10), case.truth())
