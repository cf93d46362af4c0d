"""Sample a PyMC model with two modes, unchanged: the weights of the modes, and the evidence.

Run `python examples/pymc_mixture.py` after `pip install sterna[pymc]`; the first run compiles for about a minute.
"""

import numpy as np
import pymc as pm

import sterna

# seven of the ten points are on the right: most likely the second component, which has a weight of 0.6
DATA = np.array([-2.1, -1.3, -2.6, 1.2, 2.4, 1.9, 2.8, 2.2, 1.1, 3.0])


def model() -> pm.Model:
    """Two normal components of known weights."""
    with pm.Model(coords={"component": ["first", "second"]}) as mixture:
        mu = pm.Normal("mu", 0, 3, dims="component")
        pm.Deterministic("distance", mu[1] - mu[0])
        pm.NormalMixture("y", w=[0.4, 0.6], mu=mu, sigma=1.0, observed=DATA)
    return mixture


def main() -> None:
    """Sample and print the results next to the exact ones."""
    result = sterna.sample(model(), seed=1)
    share = float((result.posterior["distance"] > 0).mean())
    print(f"log evidence {result.log_evidence}; quadrature: -21.490")
    print(f"the second component is on the right with probability {share:.2f}; quadrature: 0.82")
    print(result.to_arviz())


if __name__ == "__main__":
    main()
