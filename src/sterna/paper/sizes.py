"""The numbers of observations and latent variables of a model with its data, counted as in the paper."""

import math
from collections.abc import Callable
from typing import Any

from sterna.target.target import Target

Count = Callable[[dict[str, Any]], int]

OBSERVATIONS: dict[str, Count] = {
    "change_point": lambda data: len(data["cumulated"]),
    "copy_number": lambda data: int(data["bins"]),
    "glm": lambda data: len(data["incidents"]),
    "hierarchical": lambda data: int(data["launches"].sum()),
    "mixture": lambda data: len(data["y"]),
    "ode": lambda data: len(data["times"]),
    "phylo_cancer": lambda data: int(data["loci"] * data["cells"]),
    "phylo_species": lambda data: int(data["weights"].sum()),
    "product": lambda data: int(data["trials"]),
    "spike_slab": lambda data: len(data["labels"]),
}

# Models whose latent variables the paper counts differently from the coordinates of a state: modes, the genotypes of
# all cells, and topologies.
LATENT_VARIABLES: dict[str, Count] = {
    "discrete": lambda data: 3,
    "phylo_cancer": lambda data: int(data["loci"] * data["cells"]) + 2,
    "phylo_species": lambda data: math.prod(range(2 * int(data["taxa"]) - 5, 1, -2)),
}


def sizes(target: Target) -> tuple[int | None, int]:
    """Return n and d of the paper's table of models; n is None if a model has no observations."""
    name = str(target.name)
    observations, latent = OBSERVATIONS.get(name), LATENT_VARIABLES.get(name)
    n = None if observations is None else observations(target.data)
    return n, target.dimension if latent is None else latent(target.data)
