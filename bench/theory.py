"""Compare theory, simulation and the engine, and show convergence to the scaling limits (`make theory`)."""

import itertools
import math
import sys
import time
from pathlib import Path

import numpy as np

from sterna import theory

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "tools")]
import exact  # noqa: E402
from distances import kolmogorov, law_of, wasserstein  # noqa: E402
from independent import engine_rates, expected_time  # noqa: E402

COPIES, SCANS, TRIPS = 40, 20_000, 20_000
COLUMNS = ("W1 paths", "W1 exact", "KS paths", "KS exact", "seconds")


def round_trip_times() -> None:
    """Print E[T] of one replica from the theorem, the simulated index process, and the engine."""
    print(f"expected round-trip times in scans; {TRIPS} simulated trips, engine: {COPIES} copies of {SCANS} scans")
    print(
        f"{'scheme':<8}{'N':>5}{'theorem':>11}{'simulated':>11}{'error':>8}{'z':>7}{'engine':>11}{'error':>8}{'z':>7}"
    )
    for scheme, last in itertools.product(("deo", "seo"), (5, 10, 30, 100)):
        rates, rejection = engine_rates(last + 1, scheme, n_rounds=13, n_scans=SCANS, n_copies=COPIES)
        expected = theory.expected_round_trip_time(rejection, scheme)
        trips = theory.simulate_round_trips(rejection, TRIPS, scheme)
        measured, error = expected_time(rates, last + 1)
        print(
            f"{scheme:<8}{last:>5}{expected:>11.2f}{trips.mean:>11.2f}{trips.error:>8.2f}"
            f"{(trips.mean - expected) / trips.error:>+7.2f}"
            f"{measured:>11.2f}{error:>8.2f}{(measured - expected) / error:>+7.2f}"
        )


def optimal_rejections(barrier: float, last: int) -> np.ndarray:
    """Return exact rejections of the normal model in two dimensions on its optimal schedule, for a given barrier."""
    precision = math.exp(2.0 * barrier)
    generator = theory.optimal_generator(lambda beta: theory.normal_barrier(beta, 2, precision))
    return exact.normal_rejections(theory.generated_schedule(generator, last + 1), 2, precision)


def rates() -> None:
    """Print predicted and simulated round-trip rates on optimal schedules as the number of chains grows."""
    print("\nround trips per scan on optimal schedules (normal model in two dimensions); simulated: 4000 trips")
    print(f"{'Lambda':>7}{'N':>7}{'DEO':>10}{'simulated':>11}{'error':>9}{'SEO':>12}{'simulated':>11}{'error':>9}")
    for barrier in (1.0, 5.0, 20.0):
        for last in (10, 30, 100, 300, 1000):
            rejection = optimal_rejections(barrier, last)
            print(f"{barrier:>7g}{last:>7}", end="")
            for scheme, width in (("deo", 10), ("seo", 12)):
                # reversible trips take N^2 scans each
                trips = theory.simulate_round_trips(rejection, 4000 if last < 1000 or scheme == "deo" else 400, scheme)
                error = trips.rate * trips.error / trips.mean
                predicted = theory.predicted_round_trip_rate(rejection, scheme)
                print(f"{predicted:>{width}.6f}{trips.rate:>11.6f}{error:>9.6f}", end="")
            print()
        print(f"{barrier:>7g}{'limit':>7}{theory.optimal_round_trip_rate(barrier):>10.6f}{'':>20}{0.0:>12.6f}")


def scaling_limits(n_paths: int = 10**6) -> None:
    """Print distances of the scaled index process from its limits."""
    barrier, start = 3.0, 0.3
    print(
        f"\ndistance from the limit, Lambda = {barrier:g}, start {start}: {n_paths} paths, and the exact distribution"
    )
    print(f"{'scheme':<8}{'time':>6}{'N':>6}" + "".join(f"{name:>11}" for name in COLUMNS))
    for scheme, times in (("deo", (0.5, 2.0)), ("seo", (0.02, 0.2))):
        for at, last in itertools.product(times, (10, 100, 1000)):
            rejection = optimal_rejections(barrier, last)
            begin = time.perf_counter()
            # beyond 3e10 steps only the exact distribution is computed
            simulated = theory.scans_per_time(last + 1, scheme) * at * n_paths < 3e10
            ends = theory.scaled_index_ends(rejection, at, n_paths, start, 1, scheme) if simulated else None
            seconds = time.perf_counter() - begin
            exact_law = theory.scaled_index_law(rejection, at, start, 1, scheme)
            laws = [None if ends is None else law_of(ends, last), exact_law]
            print(f"{scheme:<8}{at:>6g}{last:>6}", end="")
            for law in laws:
                print(
                    f"{'-':>11}" if law is None else f"{wasserstein(law, limit(scheme, barrier, at, start)):>11.6f}",
                    end="",
                )
            for law in laws:
                shown = law is not None and scheme == "seo"
                print(f"{kolmogorov(law, limit(scheme, barrier, at, start)):>11.6f}" if shown else f"{'-':>11}", end="")
            print(f"{seconds:>11.1f}" if simulated else f"{'-':>11}")


def limit(scheme: str, barrier: float, at: float, start: float):  # type: ignore[no-untyped-def]
    """Return the distribution function of the limit."""
    if scheme == "deo":
        return lambda place: theory.piecewise_deterministic_cdf(place, barrier, at, start)
    return lambda place: theory.brownian_motion_cdf(place, at, start)


def limit_draws(n_paths: int = 10**6) -> None:
    """Compare draws of the limits with their distribution functions: the noise level of all distances."""
    print(f"\nW1 between {n_paths} draws of a limit, rounded to 1/2000, and its distribution function")
    for scheme, at in (("deo", 0.5), ("deo", 2.0), ("seo", 0.02), ("seo", 0.2)):
        begin = time.perf_counter()
        if scheme == "deo":
            ends = theory.piecewise_deterministic_ends(3.0, at, n_paths, 0.3)
        else:
            ends = theory.brownian_motion_ends(at, n_paths, 0.3)
        seconds = time.perf_counter() - begin
        distance = wasserstein(law_of(ends, 2000), limit(scheme, 3.0, at, 0.3))
        print(f"{scheme:<8}{at:>6g}{distance:>11.6f}{n_paths / seconds:>14.2e} draws per second")


def speed() -> None:
    """Print steps per second of the simulated index process."""
    print(f"\n{'scheme':<8}{'N':>5}{'rejection':>11}{'million steps per second':>25}")
    for scheme, last, rejection in itertools.product(("deo", "seo"), (10, 100), (0.05, 0.5)):
        probabilities = np.full(last, rejection)
        theory.simulate_round_trips(probabilities, 1, scheme)
        n_trips = int(2e8 / theory.expected_round_trip_time(probabilities, scheme))
        begin = time.perf_counter()
        scans = theory.simulate_round_trips(probabilities, n_trips, scheme).scans
        print(f"{scheme:<8}{last:>5}{rejection:>11}{scans / (time.perf_counter() - begin) / 1e6:>25.0f}")


if __name__ == "__main__":
    begin = time.perf_counter()
    round_trip_times()
    rates()
    scaling_limits()
    limit_draws()
    speed()
    print(f"\n{time.perf_counter() - begin:.0f} s in total")
