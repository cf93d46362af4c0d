"""Normal vectors, stored by standard normal coordinates."""

import numpy as np

import sterna
from sterna.reference.affine import affine
from sterna.reference.space import space_of


def test_compiled_normal_vector_has_the_bits_of_the_other():
    """A target compiled and the same target as Python must see the same numbers."""
    covariance = np.eye(6) + 0.3
    (variable,) = space_of({"v": sterna.MultivariateNormal(np.arange(6.0), covariance)}).variables
    for z in np.random.default_rng(4).standard_normal((50, 6)):
        assert np.array_equal(affine(z, *variable.affine), variable.value(z))
