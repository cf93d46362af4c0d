"""The goals of --until, as `sterna.sample` takes them."""

from typing import Any


def goals_of(texts: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the goals of --until as `sterna.sample` takes them."""
    from sterna.errors import OptionError

    goals: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise OptionError(
                f"--until {text}: write GOAL=VALUE, such as --until log_evidence=0.05 or --until ess.mu=400."
            )
        name, dot, variable = key.partition(".")
        if dot and name == "ess":
            goals["ess"] = (goals["ess"] if isinstance(goals.get("ess"), dict) else {}) | {variable: number}
        else:
            goals[key] = number
    return goals or None
