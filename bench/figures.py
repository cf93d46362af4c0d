"""Compare measured and exact values, with standard errors (`make figures`)."""

import math
import sys
from pathlib import Path

import numpy as np

import sterna
from sterna.engine.index_process import Trips

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "laws")]
import exact  # noqa: E402
import test_swaps  # noqa: E402
from targets import corner, two_modes  # noqa: E402


def swaps() -> None:
    """Print deviations of the kernels from invariance and detailed balance, without and with planted faults."""
    for schedule in test_swaps.SCHEDULES:
        law = test_swaps.joint_law(schedule)
        even, odd = (test_swaps.swap_matrix(schedule, parity) for parity in (0, 1))
        kept = max(test_swaps.invariance_gap(law, matrix) for matrix in (even, odd))
        mixed, successive = (test_swaps.balance_gap(law, matrix) for matrix in ((even + odd) / 2, even @ odd))
        print(f"swaps of {len(schedule)} chains: invariance {kept:.0e}, balance (even + odd)/2 {mixed:.0e}, ", end="")
        print(f"even then odd {successive:.3f}")
    scans = [test_swaps.invariance_gap(test_swaps.scan_law(), test_swaps.scan_matrix(parity)) for parity in (0, 1)]
    print(f"full scans: invariance {scans[0]:.0e} and {scans[1]:.0e}")
    schedule = test_swaps.SCHEDULES[0]
    for name, fault in test_swaps.LAW_CHANGING_FAULTS.items():
        faulty = (test_swaps.swap_matrix(schedule, parity, [fault]) for parity in (0, 1))
        gap = max(test_swaps.invariance_gap(test_swaps.joint_law(schedule), matrix) for matrix in faulty)
        print(f"fault, {name}: invariance {gap:.1e}")
    for name, faults in test_swaps.SCAN_FAULTS.items():
        gap = test_swaps.invariance_gap(test_swaps.scan_law(), test_swaps.scan_matrix(0, faults))
        print(f"fault, {name}: invariance {gap:.1e}")
    print()


def closed_forms() -> None:
    """Print rejections, schedule and evidence of models with closed forms, at 2**14 scans."""
    print(
        f"{'model':<30}{'sum':>9}{'exact':>9}{'error':>9}{'z':>7}{'schedule':>10}{'log Z':>10}{'exact':>10}{'error':>8}"
    )
    for dim in (2, 5, 20):
        for precision in (2.0, 10.0, 100.0):
            result = run(sterna.models.normal(dim, precision))
            rejections = exact.normal_rejections(result.schedule, dim, precision)
            cumulative = exact.normal_barrier(result.schedule, dim, precision)
            row(
                f"normal d={dim} precision={precision:g}",
                result,
                rejections,
                cumulative,
                -0.5 * dim * math.log(precision),
            )
    for name, levels in (("discrete", exact.discrete_levels(2, 100.0)), ("ising", exact.ising_levels(5))):
        result = run(getattr(sterna.models, name)())
        rejections = exact.level_rejections(result.schedule, *levels)
        row(name, result, rejections, exact.level_barrier(result.schedule, *levels), exact.log_evidence(*levels))


def run(target: sterna.Target) -> sterna.Result:
    """Tune for 13 rounds and sample 2**14 scans of 12 chains."""
    return sterna.sample(target, n_chains=12, n_rounds=13, n_scans=2**14, progress=False)


def row(name: str, result: sterna.Result, rejections: np.ndarray, cumulative: np.ndarray, log_z: float) -> None:
    """Print one model's figures."""
    last, evidence = result.last, result.log_evidence
    places = np.linspace(0, 1, len(result.schedule))
    off = np.abs(cumulative / cumulative[-1] - places).max()
    score = (last.rejection.sum() - rejections.sum()) / last.total_rejection_error
    print(
        f"{name:<30}{last.rejection.sum():>9.4f}{rejections.sum():>9.4f}{last.total_rejection_error:>9.4f}{score:>+7.2f}"
        f"{off:>10.4f}{evidence.value:>10.3f}{log_z:>10.3f}{evidence.error:>8.3f}"
    )


def gain(z):  # type: ignore[no-untyped-def]
    """Independent terms, so that one pass of the heat bath is an independent draw."""
    total = 0.0
    for value in z:
        total += 1.2 * value
    return total


def round_trips() -> None:
    """Compare round-trip rates under independent exploration with the theorem."""
    print(f"\n{'scheme':<8}{'chains':>7}{'measured':>11}{'error':>10}{'theorem':>10}{'z':>7}")
    target = sterna.Target(gain, {"z": sterna.Bernoulli(0.5, shape=30)})
    levels = exact.binomial_levels(30, 0.5, 1.2)
    for scheme in ("deo", "seo"):
        for n_chains in (4, 8, 16, 32):
            result = sterna.sample(
                target, n_chains=n_chains, n_rounds=8, n_scans=16_000, n_copies=40, scheme=scheme, progress=False
            )
            rejection = exact.level_rejections(result.schedule, *levels)
            travel = 1 if scheme == "deo" else n_chains - 1
            predicted = 1 / (2 * travel + 2 * np.sum(rejection / (1 - rejection)))
            rates = np.array([record.trips[Trips.restarts] for record in result.records]) / 16_000
            error = rates.std(ddof=1) / math.sqrt(len(rates))
            score = (rates.mean() - predicted) / error
            print(f"{scheme:<8}{n_chains:>7}{rates.mean():>11.5f}{error:>10.5f}{predicted:>10.5f}{score:>+7.2f}")


def modes() -> None:
    """Weight of the smaller mode, 0.1, in 2 and 20 dimensions."""
    print(f"\n{'dimensions':<12}{'weight':>9}{'error':>9}{'exact':>7}{'restarts':>10}")
    for dim, n_chains in ((2, 12), (20, 30)):
        target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=dim)})
        result = sterna.sample(target, n_chains=n_chains, n_rounds=12, n_copies=2, progress=False)
        right = result.posterior["x"].values.sum(axis=-1) > 0
        means = right[:, : right.shape[1] // 25 * 25].reshape(50, -1).mean(axis=1)
        error = means.std(ddof=1) / math.sqrt(50)
        print(f"{dim:<12}{means.mean():>9.4f}{error:>9.4f}{0.1:>7}{result.restarts:>10}")


def zeros() -> None:
    """A likelihood of zero on 90 % of the reference, tuned in 12 rounds."""
    result = sterna.sample(corner, {"x": sterna.Uniform(0, 1)}, n_chains=20, n_rounds=12, progress=False)
    others = result.rejection[1:]
    print(f"\nzero likelihood: share {result.last.zero_share:.4f}, first rejection {result.rejection[0]:.3f}, ", end="")
    print(f"others {others.min():.3f} to {others.max():.3f}, closest betas {np.diff(result.schedule).min():.2e}")
    print(f"log evidence {result.log_evidence}, exact {math.log(0.001 * math.sqrt(2 * math.pi)):.4f}; ", end="")
    print(f"rate {result.round_trip_rate:.4f}, best {result.optimal_round_trip_rate:.4f}")


if __name__ == "__main__":
    swaps()
    closed_forms()
    round_trips()
    modes()
    zeros()
