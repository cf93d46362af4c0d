"""Where is the transmitter? A posterior with two modes, which a single chain cannot sample but sterna can.

Three receivers, almost on a line, have measured their distances to a transmitter. A position and its mirror image
across the line explain the data almost equally well, so the posterior has two modes. The exact weights are computed on
a grid.
"""

import math

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import sterna

RECEIVERS = np.array([[-3.0, -3.0], [0.4, 0.3], [3.0, 3.0]])
DISTANCES = np.array([5.14, 3.02, 5.05])
NOISE = 0.2


def log_likelihood(x, y, receivers, distances, noise):
    """Return the log-likelihood of the measured distances, with normal errors."""
    total = 0.0
    for k in range(len(distances)):
        distance = math.sqrt((x - receivers[k, 0]) ** 2 + (y - receivers[k, 1]) ** 2)
        total -= 0.5 * ((distances[k] - distance) / noise) ** 2
    return total


def target() -> sterna.Target:
    """Return the model: a uniform prior on a square, and the three measurements."""
    return sterna.Target(
        log_likelihood,
        reference={"x": sterna.Uniform(-8, 8), "y": sterna.Uniform(-8, 8)},
        data={"receivers": RECEIVERS, "distances": DISTANCES, "noise": NOISE},
        name="transmitter",
    )


def single_chain(n_steps: int) -> np.ndarray:
    """Return draws of a random-walk Metropolis chain, as one would write it by hand."""
    rng = np.random.default_rng(1)
    position, density = np.array([-2.0, 2.0]), -np.inf
    draws = np.empty((n_steps, 2))
    for step in range(n_steps):
        proposal = position + 0.3 * rng.standard_normal(2)
        proposed = log_likelihood(*proposal, RECEIVERS, DISTANCES, NOISE) if abs(proposal).max() < 8 else -np.inf
        if np.log(rng.random()) < proposed - density:
            position, density = proposal, proposed
        draws[step] = position
    return draws


def exact_west() -> tuple[float, float]:
    """Return the weight of the mode north-west of the line and the log evidence, computed on a fine grid."""
    grid = np.linspace(-8, 8, 2001)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    distance = np.hypot(x[..., None] - RECEIVERS[:, 0], y[..., None] - RECEIVERS[:, 1])
    density = np.exp(-0.5 * (((DISTANCES - distance) / NOISE) ** 2).sum(axis=-1))
    # the prior density is 1/256 on the square
    return density[y > x].sum() / density.sum(), math.log(density.mean())


def batch_error(indicator: np.ndarray, batches: int = 25) -> float:
    """Return the standard error of the mean of correlated draws, from batch means."""
    means = indicator[: len(indicator) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(batches))


def picture(draws: np.ndarray, title: str) -> Panel:
    """Plot a map of the draws in the terminal."""
    counts, _, _ = np.histogram2d(draws[:, 1], draws[:, 0], bins=(13, 35), range=[[-4, 4], [-4, 4]])
    shades = " ·░▒▓█"
    scale = (len(shades) - 1) / np.sqrt(counts.max())
    lines = ["".join(shades[math.ceil(math.sqrt(count) * scale)] for count in row) for row in counts[::-1]]
    return Panel("\n".join(lines), title=title, expand=False)


def main() -> None:
    """Sample, and compare the result with the exact answer."""
    console = Console(highlight=False)
    console.print(__doc__.split("\n\n")[0], style="bold", soft_wrap=True)
    console.print(" ".join(__doc__.split("\n\n")[1].split()))
    result = sterna.sample(target(), n_rounds=13)
    alone = single_chain(result.settings.n_scans)
    draws = np.stack([result.posterior["x"].values[0], result.posterior["y"].values[0]], axis=1)
    west, evidence = exact_west()
    console.print()
    console.print(Columns([picture(alone, "one chain"), picture(draws, "sterna")]))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "exact (grid)", "sterna", "one chain"):
        table.add_column(heading)
    found = draws[:, 1] > draws[:, 0]
    table.add_row(
        "weight of the north-western mode",
        f"{west:.3f}",
        f"{found.mean():.3f} ± {batch_error(found):.3f}",
        f"{(alone[:, 1] > alone[:, 0]).mean():.3f}",
    )
    table.add_row("log evidence", f"{evidence:.3f}", str(result.log_evidence), "-")
    table.add_row("trips from prior to posterior", "", f"{result.restarts}", "-")
    console.print(table)


if __name__ == "__main__":
    main()
