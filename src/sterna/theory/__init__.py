"""The paper's theory as plain functions: rates, barriers, schedules, the index process, its limits, and planning.

Examples
--------
>>> import sterna
>>> sterna.theory.optimal_n_chains(barrier=4.6)
11
>>> sterna.theory.predicted_round_trip_rate([0.5, 0.5, 0.5])
0.125
"""

from sterna.theory.barriers import (
    barrier_rejection,
    discrete_barrier,
    discrete_local_barrier,
    high_dimensional_barrier,
    high_dimensional_local_barrier,
    multimodal_barrier,
    normal_barrier,
    normal_local_barrier,
)
from sterna.theory.brownian_motion import brownian_motion_cdf, brownian_motion_ends, brownian_motion_path
from sterna.theory.generators import generated_schedule, geometric_generator, optimal_generator, uniform_generator
from sterna.theory.index_process import IndexPath, RoundTrips, simulate_index_process, simulate_round_trips
from sterna.theory.piecewise_deterministic import (
    piecewise_deterministic_cdf,
    piecewise_deterministic_ends,
    piecewise_deterministic_path,
)
from sterna.theory.planning import Plan, plan
from sterna.theory.rates import (
    budget_round_trip_rate,
    expected_round_trip_time,
    optimal_n_chains,
    optimal_n_copies,
    optimal_round_trip_rate,
    predicted_round_trip_rate,
    schedule_inefficiency,
)
from sterna.theory.scaled_index_process import (
    ScaledPath,
    scaled_index_ends,
    scaled_index_law,
    scaled_index_path,
    scans_per_time,
)

__all__ = [
    "IndexPath",
    "Plan",
    "RoundTrips",
    "ScaledPath",
    "barrier_rejection",
    "brownian_motion_cdf",
    "brownian_motion_ends",
    "brownian_motion_path",
    "budget_round_trip_rate",
    "discrete_barrier",
    "discrete_local_barrier",
    "expected_round_trip_time",
    "generated_schedule",
    "geometric_generator",
    "high_dimensional_barrier",
    "high_dimensional_local_barrier",
    "multimodal_barrier",
    "normal_barrier",
    "normal_local_barrier",
    "optimal_generator",
    "optimal_n_chains",
    "optimal_n_copies",
    "optimal_round_trip_rate",
    "piecewise_deterministic_cdf",
    "piecewise_deterministic_ends",
    "piecewise_deterministic_path",
    "plan",
    "predicted_round_trip_rate",
    "scaled_index_ends",
    "scaled_index_law",
    "scaled_index_path",
    "scans_per_time",
    "schedule_inefficiency",
    "simulate_index_process",
    "simulate_round_trips",
    "uniform_generator",
]
