"""A result without its draws, as numbers, texts and lists."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sterna.result.result import Result


def plain_numbers(result: "Result") -> dict[str, Any]:
    """Return what JSON can hold."""
    last = {"summary": result.summary, "warnings": result.warnings, "notes": result.notes}
    return numbers_of_run(result) | {name: finite(value) for name, value in last.items()}


def numbers_of_run(result: "Result") -> dict[str, Any]:
    """Return the same without what is computed from all draws, which can take longer than the run."""
    settings = result.settings
    found = {
        "target": result.target.name,
        "seed": settings.seed,
        "scheme": settings.scheme,
        "explorer": result.explorer,
        "explorations": result.explorations,
        "n_chains": settings.n_chains,
        "n_copies": settings.n_copies,
        "n_rounds": settings.n_rounds,
        "n_scans": settings.n_scans,
        "until": None if settings.until is None else settings.until.to_dict(),
        "ended_by": result.ended_by,
        "unreached": list(result.unreached),
        "schedule": result.schedule.tolist(),
        "rejection": result.rejection.tolist(),
        "global_barrier": result.global_barrier,
        "zero_share": result.last.zero_share,
        "log_evidence": result.log_evidence.to_dict(),
        "evidence_name": result.evidence_name,
        "evidence": {name: estimate.to_dict() for name, estimate in result.evidence.items()},
        "evidence_curve": result.evidence_curve.value.tolist(),
        "divergences": {name: estimate.to_dict() for name, estimate in result.divergences.items()},
        "restarts": result.restarts,
        "predicted_restarts": result.predicted_restarts,
        "first_restart": result.first_restart,
        "round_trips": result.round_trips,
        "round_trip_rate": result.round_trip_rate,
        "predicted_round_trip_rate": result.predicted_round_trip_rate,
        "optimal_round_trip_rate": result.optimal_round_trip_rate,
        "energy_autocorrelation": result.energy_autocorrelation.tolist(),
        "rounds": result.rounds.rows(),
        "evaluations": result.evaluations,
        "gradient_evaluations": result.gradient_evaluations,
        "on_error": settings.on_error,
        "failed_evaluations": result.failed_evaluations.to_dict(),
        "diverged": result.diverged.tolist(),
        "search": result.search.to_dict(),
        "path": settings.path,
        "modes": result.modes.to_dict(),
        "other_path": None if result.other_path is None else result.other_path.to_dict(),
        "timing": result.timing,
    }
    return {name: finite(value) for name, value in found.items()}


def finite(value: object) -> object:
    """Replace NaN and infinities, such as errors that are unknown, by None: JSON has no other word for them."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
