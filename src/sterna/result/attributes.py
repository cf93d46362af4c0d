"""What a saved posterior says about its run, as attributes that netCDF can hold."""

from typing import TYPE_CHECKING, TypeAlias

from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.result.result import Result

Attributes: TypeAlias = dict[str, str | int | float | FloatArray]


def attributes_of(result: "Result") -> Attributes:
    """Return the run's settings, evidence, schedule, restarts, warnings and notes as texts, numbers and vectors.

    There are no lists of texts in netCDF: warnings and notes have one line each, and a text is empty if there are none.
    """
    settings, evidence = result.settings, result.log_evidence
    return {
        "target": result.target.name,
        "sampler": "sterna",
        "seed": settings.seed,
        "scheme": settings.scheme,
        "explorer": result.explorer,
        "explorations": result.explorations,
        "n_chains": settings.n_chains,
        "n_rounds": settings.n_rounds,
        "n_scans": settings.n_scans,
        "thin": settings.thin,
        "log_evidence": evidence.value,
        "log_evidence_error": evidence.error,
        "global_barrier": result.global_barrier,
        "schedule": result.schedule,
        "rejection": result.rejection,
        "restarts": result.restarts,
        "round_trips": result.round_trips,
        "warnings": lines(result.warnings),
        "notes": lines(result.notes),
    }


def lines(texts: list[str]) -> str:
    """Return texts as one, each on a line."""
    return "\n".join(" ".join(text.split()) for text in dict.fromkeys(texts))
