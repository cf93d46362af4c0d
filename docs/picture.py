"""Plot the figure of the README: draws of a single chain, draws of sterna, and the paths of replicas."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))
import transmitter  # noqa: E402

import sterna  # noqa: E402


def show_map(axis, draws, title, colour):
    """Scatter draws over the receivers."""
    axis.plot(*transmitter.RECEIVERS.T, "^", color="0.35", markersize=7)
    # a marker in a legend would look like another receiver
    axis.text(2.7, 3.0, "receivers", ha="right", va="center", fontsize=8, color="0.35")
    axis.plot(draws[:, 0], draws[:, 1], ".", color=colour, alpha=0.15, markersize=3)
    axis.set(xlim=(-4.2, 4.2), ylim=(-4.2, 4.2), aspect="equal", title=title, xlabel="x", ylabel="y")


def show_index_process(axis, paths, scans):
    """Plot the paths of all replicas across the chains, one of them in bold."""
    for replica in range(paths.shape[1]):
        axis.plot(paths[:scans, replica], color="0.85", linewidth=0.7)
    axis.plot(paths[:scans, 3], color="tab:red", linewidth=1.8)
    axis.set(title="a replica travels between prior and posterior", xlabel="scan", ylabel="chain (0: prior, 9: posterior)")


def main():
    """Sample the example and save the figure next to this file."""
    result = sterna.sample(transmitter.target(), n_chains=10, n_rounds=12, progress=False)
    draws = np.stack([result.posterior["x"].values[0], result.posterior["y"].values[0]], axis=1)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), width_ratios=[1, 1, 1.5], layout="constrained")
    show_map(axes[0], transmitter.single_chain(len(draws)), "one chain: half of the answer", "tab:gray")
    show_map(axes[1], draws, "sterna: both modes, right weights", "tab:blue")
    show_index_process(axes[2], result.index_process[0], 150)
    figure.savefig(HERE / "two_modes.png", dpi=110)


if __name__ == "__main__":
    main()
