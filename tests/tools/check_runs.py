"""Runs that end after two scans, for the checks before the first round."""

import sterna
from sterna.ground.values import REAL


def start(target, seed=1, explorer=None):
    """Run all checks of a target, whose gradient is among them if it has one."""
    if explorer is None:
        all_real = (target.program.value_type == REAL).all()
        explorer = target.explorer or ("hmc" if target.has_gradient and all_real else "slice")
    return sterna.sample(target, n_rounds=1, n_scans=2, seed=seed, explorer=explorer, progress=False)
