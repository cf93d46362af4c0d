"""Isotropic normal model (paper, appendix on the Gaussian model)."""

from sterna.distributions import Normal
from sterna.errors import OptionError
from sterna.target import Target


def normal(dim: int = 5, precision: float = 5.0) -> Target:
    r"""Isotropic normal target of a given precision, from a standard normal reference.

    The reference is N(0, I) and the target N(0, I / precision), so V(x) = (precision - 1) |x|^2 / 2 and
    log Z(1)/Z(0) = -(dim / 2) log(precision). Lambda = 2^(1-dim) log(precision) / B(dim/2, dim/2).

    Examples
    --------
    >>> import sterna
    >>> sterna.models.normal(dim=2, precision=10).log_densities(x=[0.0, 1.0])
    (-2.3378770664093453, -4.5)
    """
    if dim < 1 or not precision > 0:
        raise OptionError(f"normal(dim={dim}, precision={precision}): dim must be at least 1 and precision positive.")
    return Target(
        log_likelihood,
        {"x": Normal(0.0, 1.0, shape=dim)},
        {"half": 0.5 * (precision - 1.0)},
        name="normal",
    )


def log_likelihood(x, half):  # type: ignore[no-untyped-def]
    """Return -V."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return -half * total
