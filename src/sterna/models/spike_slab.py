"""Classification with variable selection by a spike-and-slab prior (paper, experiments: passengers of the Titanic)."""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.parameters import checked
from sterna.reference.reference import Reference
from sterna.reference.space import Binary, Real
from sterna.target.target import Target
from sterna.types import FloatArray

# Parameters from which labels are simulated.
TRUE_INTERCEPT, TRUE_COEFFICIENTS = 1.5, (-1.0, -0.03, -0.4, 0.0, 0.0, 2.6, 0.0, 0.0)


@checked
def spike_slab(
    labels: ArrayLike | None = None, covariates: ArrayLike | None = None, size: int = 200, naive: bool = False
) -> Target:
    r"""Logistic regression in which every coefficient is switched on or off.

    .. math:: \rho \sim \mathrm{Uniform}(0, 1), \quad s \sim \mathrm{Exponential}(1), \quad
              \alpha, w_j \sim \mathrm{Cauchy}(0, s), \quad \gamma_j \sim \mathrm{Bernoulli}(\rho),
    .. math:: y_i \sim \mathrm{Bernoulli}\Bigl(1 / \bigl(1 + e^{-\alpha - \sum_j x_{ij} \gamma_j w_j}\bigr)\Bigr)

    `share` is rho, `scale` s, `intercept` alpha, `switch` gamma and `weight` w; a weight is also sampled while its
    switch is off.

    By default the log-probabilities are exact. With `naive=True` they are computed as in the paper's software: if the
    probability of an observed label rounds to 0, the likelihood is zero. This happens at 0.37 of the draws from the
    reference and makes the barrier jump at beta = 0. Lambda is about 4.7 in both forms (paper: 4.7).

    Data: `labels` and `covariates` (one row per label), if given; otherwise the first `size` rows of
    spike_slab_titanic/titanic.csv of the data folder, with the covariates class, age, siblings and spouses, parents and
    children, fare, female, child (below 10 years), and class again; otherwise as many simulated passengers.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.spike_slab(labels=[0, 1], covariates=[[1.0, 500.0], [2.0, 0.0]])
    >>> point = {"share": 0.5, "scale": 1.0, "intercept": 0.0, "switch": [0, 1], "weight": [3.0, 2.0]}
    >>> target.log_densities(**point)[1]
    -1000.6931471805599
    """
    if (labels is None) != (covariates is None):
        raise OptionError("spike_slab: only one of labels and covariates is given; give both, or neither.")
    simulated = False
    if labels is None or covariates is None:
        file = data_file("spike_slab_titanic", "titanic.csv")
        simulated = file is None
        labels, covariates = simulate(size) if file is None else read(file, size)
    y, x = np.asarray(labels, dtype=np.float64), np.asarray(covariates, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or x.size == 0 or not np.isin(y, (0, 1)).all() or not np.isfinite(x).all():
        raise OptionError(
            "spike_slab: labels must be zeros and ones, and covariates a table with a row of finite numbers for each."
        )
    space = {
        "share": Real(0.0, 1.0),
        "scale": Real(0.0),
        "intercept": Real(),
        "switch": Binary(shape=x.shape[1]),
        "weight": Real(shape=x.shape[1]),
    }
    function = naive_log_likelihood if naive else log_likelihood
    target = Target(function, Reference(draw, log_density, space), {"labels": y, "covariates": x}, name="spike_slab")
    return say_simulated(target) if simulated else target


def read(file: Path, size: int) -> tuple[FloatArray, FloatArray]:
    """Read the labels and covariates of the first passengers."""
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))[:size]
    names = ("Pclass", "Age", "Siblings/Spouses Aboard", "Parents/Children Aboard", "Fare")
    columns = [np.array([float(row[name]) for row in rows]) for name in names]
    female = np.array([float(row["Sex"] == "female") for row in rows])
    labels = np.array([float(row["Survived"]) for row in rows])
    return labels, with_derived(columns, female)


def with_derived(columns: list[FloatArray], female: FloatArray) -> FloatArray:
    """Add an indicator for children, and the class again, whose coefficient is not identifiable from the first."""
    return np.column_stack([*columns, female, columns[1] < 10.0, columns[0]])


def simulate(size: int = 200, seed: int = SEED) -> tuple[FloatArray, FloatArray]:
    """Draw passengers like those of the Titanic, and labels from the model with four coefficients switched on."""
    rng = np.random.Generator(np.random.PCG64(seed))
    ticket_class = np.asarray(rng.choice([1.0, 2.0, 3.0], size, p=[0.24, 0.21, 0.55]), dtype=np.float64)
    age = rng.normal(29.0, 14.0, size).clip(1.0, 80.0).round()
    relatives = [np.minimum(rng.geometric(p, size) - 1.0, 8.0) for p in (0.66, 0.72)]
    fare = np.round(rng.lognormal(4.7 - 0.75 * ticket_class, 0.6), 2)
    covariates = with_derived([ticket_class, age, *relatives, fare], (rng.random(size) < 0.35).astype(np.float64))
    predictor = TRUE_INTERCEPT + covariates @ np.array(TRUE_COEFFICIENTS)
    return (rng.random(size) < 1.0 / (1.0 + np.exp(-predictor))).astype(np.float64), covariates


def draw(rng: np.random.Generator, covariates: FloatArray) -> tuple[float, float, float, FloatArray, FloatArray]:
    """Draw from the prior."""
    size = covariates.shape[1]
    share, scale = rng.random(), rng.standard_exponential()
    switch, weight = np.empty(size), np.empty(size)
    for j in range(size):
        switch[j] = 1.0 if rng.random() < share else 0.0
        weight[j] = scale * rng.standard_cauchy()
    return share, scale, scale * rng.standard_cauchy(), switch, weight


def log_density(share: float, scale: float, intercept: float, switch: FloatArray, weight: FloatArray) -> float:
    """Return the log-density of the prior."""
    total = -scale - (weight.size + 1) * math.log(math.pi * scale) - math.log1p((intercept / scale) ** 2)
    for j in range(weight.size):
        total += math.log(share) if switch[j] == 1 else math.log1p(-share)
        total -= math.log1p((weight[j] / scale) ** 2)
    return total


def log_likelihood(
    intercept: float, switch: FloatArray, weight: FloatArray, labels: FloatArray, covariates: FloatArray
) -> float:
    """Sum of Bernoulli log-probabilities: log_sigmoid(predictor) for label 1, log_sigmoid(-predictor) for label 0."""
    total, factor = 0.0, 1.0
    coefficient = switch * weight
    for i in range(labels.size):
        predictor = intercept
        for j in range(coefficient.size):
            predictor += covariates[i, j] * coefficient[j]
        total += min(predictor if labels[i] == 1.0 else -predictor, 0.0)
        factor *= 1.0 + math.exp(-abs(predictor))
        # every factor is at most 2, so one logarithm serves many of them
        if factor > 1e200:
            total -= math.log(factor)
            factor = 1.0
    return total - math.log(factor)


def naive_log_likelihood(
    intercept: float, switch: FloatArray, weight: FloatArray, labels: FloatArray, covariates: FloatArray
) -> float:
    """Sum of Bernoulli log-probabilities, computed as in the paper's software."""
    total = 0.0
    coefficient = switch * weight
    for i in range(labels.size):
        predictor = intercept
        for j in range(coefficient.size):
            predictor += covariates[i, j] * coefficient[j]
        p = 1.0 / (1.0 + math.exp(-predictor))
        probability = p if labels[i] == 1.0 else 1.0 - p
        if probability <= 0.0:
            return -math.inf
        total += math.log(probability)
    return total
