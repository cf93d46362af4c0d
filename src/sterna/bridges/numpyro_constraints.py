"""What NumPyro's constraints say about the entries of a variable."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpyro.distributions.constraints import Constraint


def plain_constraint(support: "Constraint") -> "Constraint":
    """Return the constraint of one entry of a vector of independent entries."""
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support


def is_angle(support: "Constraint") -> bool:
    """Whether a support is that of angles from -pi to pi."""
    from numpyro.distributions import constraints

    return isinstance(plain_constraint(support), type(constraints.circular))
