"""The two log evidences that are not exact, by importance sampling: `python bench/compare/references.py` (a minute).

No sampler of the comparison takes part. Proposals are Student distributions around a mode and its mirror image, and the
prior.
"""

import math
import sys
from pathlib import Path

import numpy as np
from scipy import optimize, stats
from scipy.special import logsumexp

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "tests" / "tools")]

import problems_data  # noqa: E402
from ode_truth import ode_truth  # noqa: E402

from sterna.models.ode import simulate  # noqa: E402

DRAWS, BLOCK = 4_000_000, 20_000


def labels_by_importance(seed: int = 1) -> tuple[float, float]:
    """Return log Z of the label-switching problem and its standard error."""
    problem, y, rng = problems_data.label_switching(), problems_data.label_data(), np.random.default_rng(seed)
    means, sds = problem.prior.first, problem.prior.second

    def log_joint(x):
        one = -np.logaddexp(0.0, -x[:, 4:5]) - x[:, 2:3] - 0.5 * ((y - x[:, 0:1]) * np.exp(-x[:, 2:3])) ** 2
        other = -np.logaddexp(0.0, x[:, 4:5]) - x[:, 3:4] - 0.5 * ((y - x[:, 1:2]) * np.exp(-x[:, 3:4])) ** 2
        log_l = np.logaddexp(one, other).sum(axis=1) - 0.5 * y.size * math.log(2 * math.pi)
        return log_l + stats.norm.logpdf(x, means, sds).sum(axis=1)

    def mirrored(x):
        return x[:, [1, 0, 3, 2, 4]] * np.array([1, 1, 1, 1, -1])

    start = np.array([-2.0, 2.0, math.log(0.7), 0.0, 0.4])
    found = optimize.minimize(lambda x: -log_joint(x[None])[0], start, method="BFGS")
    narrow = stats.multivariate_t(found.x, 1.2 * found.hess_inv, df=5)
    wide = stats.multivariate_t(found.x, 8.0 * found.hess_inv, df=3)
    shares = {"narrow": 0.7, "wide": 0.2, "prior": 0.1}

    def block():
        kinds = rng.multinomial(BLOCK, list(shares.values()))
        x = np.concatenate([narrow.rvs(kinds[0], rng), wide.rvs(kinds[1], rng), rng.normal(means, sds, (kinds[2], 5))])
        flipped = rng.random(BLOCK) < 0.5
        x[flipped] = mirrored(x[flipped])
        terms = [
            np.log(0.5 * share) + part.logpdf(some)
            for share, part in ((shares["narrow"], narrow), (shares["wide"], wide))
            for some in (x, mirrored(x))
        ]
        terms.append(math.log(shares["prior"]) + stats.norm.logpdf(x, means, sds).sum(axis=1))
        return log_joint(x) - logsumexp(terms, axis=0)

    logs = np.concatenate([block() for _ in range(DRAWS // BLOCK)])
    log_z = float(logsumexp(logs) - math.log(len(logs)))
    return log_z, float(np.std(np.exp(logs - log_z)) / math.sqrt(len(logs)))


if __name__ == "__main__":
    print("labels: {:.5f} ± {:.5f}".format(*labels_by_importance()))
    print("ode: {:.5f} ± {:.5f}".format(*ode_truth(*simulate(), draws=400_000)[:2]))
