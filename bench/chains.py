"""Compare the tuned number of chains and the barrier with the exact ones (`make chains`)."""

import sys
from pathlib import Path

import numpy as np

import sterna

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))
import targets


def two_modes_barrier() -> float:
    """Return Lambda by quadrature: the integral of half the mean absolute difference of two energies, on a grid."""
    axis = np.linspace(-45.0, 45.0, 1201)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    side = 10.0 / np.sqrt(2.0)
    left, right = ((points + side) ** 2).sum(axis=1), ((points - side) ** 2).sum(axis=1)
    energy = np.logaddexp(np.log(0.9) - 0.5 * left, np.log(0.1) - 0.5 * right)
    order = np.argsort(energy)
    energy, log_prior = energy[order], -0.5 * (points[order] ** 2).sum(axis=1) / 100.0
    # the path is dense where the barrier is steep, that is, near the reference
    betas = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 400)])
    local = []
    for beta in betas:
        log_densities = log_prior + beta * energy
        weights = np.exp(log_densities - log_densities.max())
        weights /= weights.sum()
        below = np.cumsum(weights) - 0.5 * weights
        local.append(np.sum(weights * energy * (2.0 * below - 1.0)))
    return float(np.trapezoid(local, betas))


def ising_barrier() -> float:
    """Return Lambda of the 20 x 20 lattice, which has no closed form, from ten times as many chains: no saturation."""
    result = sterna.sample(sterna.models.ising(20), n_chains=280, n_rounds=10, n_scans=4000, n_copies=2, progress=False)
    print(f"ising 20x20 with 280 chains: sum of rejections {result.rejection.sum():.3f} "
          f"+- {result.last.total_rejection_error:.3f}")  # fmt: skip
    return result.global_barrier


def main() -> None:
    """Print the table: each model with default settings and three seeds."""
    two_modes = sterna.Target(targets.two_modes, {"x": sterna.Normal(0, 10, shape=2)}, name="two_modes")
    cases = [
        ("normal d=1000", sterna.models.normal(1000, 10.0), sterna.theory.normal_barrier(1.0, 1000, 10.0), {}),
        ("ising 20x20", sterna.models.ising(20), ising_barrier(), {"n_rounds": 12}),
        ("discrete", sterna.models.discrete(), sterna.theory.discrete_barrier(), {"n_rounds": 12}),
        ("two modes d=2", two_modes, two_modes_barrier(), {"n_rounds": 12}),
    ]
    heads = ("seed", "chains", "ceil(2L)+1", "exact L", "found L", "off", "mean r", "max r", "scans", "told N")
    print(f"{'model':<16}" + "".join(f"{head:>11}" for head in heads))
    for name, target, barrier, options in cases:
        for seed in (1, 2, 3) if name != "normal d=1000" else (1,):
            result = sterna.sample(target, seed=seed, progress=False, **options)
            # tuning, and a sampling phase of the same length
            told = 2 * (2 ** (options.get("n_rounds", 10) + 1) - 2)
            best = sterna.theory.optimal_n_chains(float(barrier))
            print(
                f"{name:<16}{seed:>11}{result.settings.n_chains:>11}{best:>11}{float(barrier):>11.3f}"
                f"{result.global_barrier:>11.3f}{result.global_barrier / float(barrier) - 1:>+11.1%}"
                f"{result.rejection.mean():>11.3f}{result.rejection.max():>11.3f}"
                f"{sum(r.n_scans for r in result.rounds):>11}{told:>11}"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
