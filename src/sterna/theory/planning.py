"""How to use many cores for a target whose barrier is known (paper, section on tuning N)."""

import math
from dataclasses import dataclass

from sterna.theory.checks import check_number, check_whole
from sterna.theory.rates import optimal_n_chains, optimal_n_copies, predicted_round_trip_rate


@dataclass(frozen=True)
class Plan:
    """How many chains and copies to run, and what to expect from them.

    Examples
    --------
    >>> found = plan(barrier=5.0, cores=64, seconds_per_scan=0.01)
    >>> found.n_chains, found.n_copies
    (12, 5)
    """

    barrier: float
    cores: int
    seconds_per_scan: float
    """Seconds to explore one replica once: the time of a scan if every chain has its own core."""
    n_chains: int
    """Chains of each copy, N + 1."""
    n_copies: int
    replicas_per_core: int
    """Replicas that the busiest core explores in each scan; 1 if there are enough cores."""

    @property
    def rejection(self) -> float:
        """Probability that a swap is rejected under the optimal schedule, Lambda / N."""
        return self.barrier / (self.n_chains - 1)

    @property
    def round_trip_rate(self) -> float:
        """Restarts per scan and copy."""
        return predicted_round_trip_rate([self.rejection] * (self.n_chains - 1), "deo")

    @property
    def scans_per_hour(self) -> float:
        """Scans per hour of each copy."""
        return 3600.0 / (self.seconds_per_scan * self.replicas_per_core)

    @property
    def restarts_per_hour(self) -> float:
        """Restarts per hour of all copies together."""
        return self.n_copies * self.round_trip_rate * self.scans_per_hour

    def __str__(self) -> str:
        copies = "1 copy" if self.n_copies == 1 else f"{self.n_copies} copies"
        used = math.ceil(self.n_chains * self.n_copies / self.replicas_per_core)
        replicas = "1 replica" if self.replicas_per_core == 1 else f"up to {self.replicas_per_core} replicas"
        return (
            f"{copies} of {self.n_chains} chains on {used} of {self.cores} cores, {replicas} per core\n"
            f"swaps rejected: {100 * self.rejection:.0f} % (barrier {self.barrier:.3g})\n"
            f"scans per hour: {_readable(self.scans_per_hour)}, "
            f"restarts per hour: {_readable(self.restarts_per_hour)}\n"
            "assuming efficient local exploration; slower exploration gives fewer restarts, and then more chains help"
        )


def _readable(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def plan(barrier: float, cores: int, seconds_per_scan: float) -> Plan:
    """Plan a run: chains, copies, and the expected restarts per hour.

    Each copy has N* + 1 chains, N* = ceil(2 Lambda), and there are as many copies as the cores allow. Remaining cores
    are used for more chains. If there are too few cores for one copy, each explores several replicas in turn, and a
    scan takes correspondingly longer. Swaps are assumed to cost nothing, and exploration to be efficient: energies
    before and after it are independent.

    Parameters
    ----------
    barrier
        Lambda, for example `result.global_barrier` of a short run.
    cores
        Number of available cores, on one machine or several.
    seconds_per_scan
        Seconds to explore one replica once: the time of a scan if every chain has its own core.

    Examples
    --------
    >>> print(plan(barrier=5.0, cores=64, seconds_per_scan=0.01))
    5 copies of 12 chains on 60 of 64 cores, 1 replica per core
    swaps rejected: 45 % (barrier 5)
    scans per hour: 360,000, restarts per hour: 88,525
    assuming efficient local exploration; slower exploration gives fewer restarts, and then more chains help
    """
    available = check_whole("cores", cores, 1, "give the number of cores, at least 1")
    seconds = check_number("seconds_per_scan", seconds_per_scan, 0.0, "give a time above 0", above=True)
    replicas_per_core = math.ceil(optimal_n_chains(barrier) / available)
    n_replicas = replicas_per_core * available
    copies = optimal_n_copies(barrier, n_replicas)
    return Plan(float(barrier), available, seconds, n_replicas // copies, copies, replicas_per_core)
