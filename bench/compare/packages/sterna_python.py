"""sterna with its default settings and the Python function that all other packages call."""

from problem import Outcome, Problem, Settings

import sterna
from packages.sterna_compiled import sample


def run(problem: Problem, seed: int, settings: Settings) -> Outcome:
    plain = problem.plain()
    target = sterna.Target(lambda x: plain(x), problem.prior.reference(), compile=False, name=problem.name)
    return sample(target, seed, settings)
