"""A sick run, and what the advice of its warning means for it if it is more than an option."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sterna

Build = Callable[[], sterna.Target]


@dataclass(frozen=True)
class Case:
    """A run that is warned about; `others` are targets of the same posterior that follow advice which is no option."""

    warning: str
    """Name of the function in `sterna.result.warnings` that warns."""
    problem: str
    build: Build
    options: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Build] = field(default_factory=dict)


def of_battery(warning: str, family: Callable[[], list[Any]], name: str, **options: Any) -> Case:
    """A problem of the honesty battery."""
    problem = next(one for one in family() if one.name == name)
    return Case(warning, f"{family.__name__.replace('_', ' ')}: {name}", problem.run.build, options)


def normal(warning: str, dimension: int, precision: float, **options: Any) -> Case:
    """The built-in normal model."""
    return Case(
        warning, f"normal: d={dimension}, {precision:g}", lambda: sterna.models.normal(dimension, precision), options
    )
