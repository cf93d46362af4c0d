"""What a saved posterior of particles says about its run, as attributes that netCDF can hold."""

from typing import TYPE_CHECKING

from sterna.result.attributes import Attributes, lines

if TYPE_CHECKING:
    from sterna.particles.result import ParticleResult


def attributes_of(result: "ParticleResult") -> Attributes:
    """Return the run's settings, evidence, schedule, warnings and notes as texts, numbers and vectors."""
    settings, evidence = result.settings, result.log_evidence
    return {
        "target": result.target.name,
        "sampler": "sterna",
        "seed": settings.seed,
        "method": settings.method,
        "explorer": result.explorer,
        "explorations": settings.explorations,
        "n_particles": settings.n_particles,
        "n_steps": result.n_steps,
        "log_evidence": evidence.value,
        "log_evidence_error": evidence.error,
        "schedule": result.schedule,
        "warnings": lines(result.warnings),
        "notes": lines(result.notes),
    }
