"""Whether both log-densities are numbers at draws of the reference, and how many of these have likelihood zero."""

import numpy as np

from sterna.result.check_report import NOTE, OK, PROBLEM, CheckRow
from sterna.run.check.subject import Subject

# Shares of draws of likelihood zero that are worth a note, and that are a problem.
MANY_ZEROS, MOST_ZEROS = 0.5, 0.99


def check_support(subject: Subject) -> CheckRow:
    """Draws lie inside the space and have a positive density of their own."""
    name = "support"
    outside = int((subject.log_densities[:, 0] == -np.inf).sum())
    n = len(subject.states)
    if outside:
        where = subject.states[subject.log_densities[:, 0] == -np.inf][0]
        return CheckRow(
            name,
            PROBLEM,
            f"The reference's density is zero at {outside} of {n} of its own draws, such as "
            f"{subject.target.describe_point(where)}. draw and log_density must describe the same distribution.",
        )
    return CheckRow(name, OK, f"all of {n} draws lie inside of the declared space, where the reference has a density")


def check_values(subject: Subject) -> CheckRow:
    """Log-densities are numbers below +inf."""
    name, n, failures = "log-likelihood", subject.n_evaluated, subject.failures
    if failures:
        share = 100 * len(failures) / n
        return CheckRow(name, PROBLEM, f"{failures[0]} So at {len(failures)} of {n} draws ({share:.2g} %).")
    finite = subject.log_densities[subject.log_densities[:, 1] > -np.inf, 1]
    if len(finite) == 0:
        return CheckRow(name, OK, f"no error at {n} draws of the reference")
    low, middle, high = np.quantile(finite, [0.0, 0.5, 1.0])
    text = f"a number at all of {n} draws of the reference, from {low:.4g} to {high:.4g} (median {middle:.4g})"
    if n < 100:
        text += "; few draws, because evaluations are slow: max_seconds=60 takes more"
    if high - low < 1e-3 and len(finite) > 1:
        return CheckRow(name, NOTE, f"{text}. It hardly varies: may the logarithm have been forgotten?")
    return CheckRow(name, OK, text)


def check_zeros(subject: Subject) -> CheckRow:
    """The likelihood is positive at enough draws."""
    name, share, n = "zero likelihood", subject.zero_share, len(subject.states)
    text = f"{100 * share:.3g} % of {n} draws of the reference have likelihood zero"
    if np.isnan(share) or n == 0:
        return CheckRow(name, NOTE, "unknown, because no draw could be evaluated")
    if share > MOST_ZEROS:
        return CheckRow(
            name,
            PROBLEM,
            f"{text}. Chains hardly find a place to begin, and the first swap is nearly always rejected: use a "
            f"reference that knows the support, and check the likelihood where it must be positive.{_odd(subject)}",
        )
    if share > MANY_ZEROS:
        return CheckRow(
            name, NOTE, f"{text}, so that as many swaps with it are rejected: a reference on the support costs less"
        )
    return CheckRow(name, OK, text)


def _odd(subject: Subject) -> str:
    return subject.target.odd_data
