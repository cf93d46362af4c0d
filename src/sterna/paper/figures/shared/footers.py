"""What is written below a figure."""

from __future__ import annotations

from sterna.paper.figure import Tables, distinct


def footer(tables: Tables) -> str:
    """Say which models' data were simulated, and whether the budget was the paper's."""
    runs = tables["runs"]
    simulated = [name for name in distinct(runs["model"]) if "simulated" in runs["data"][runs["model"] == name]]
    parts = [f"simulated data: {', '.join(simulated)}"] * bool(simulated)
    if ((runs["budget"] == "quick") & (runs["n_scans"] > 0)).any():
        parts.append("quick: fewer scans than in the paper")
    return "; ".join(parts)
