"""Runs that end after two scans, for the checks before the first round."""

import sterna


def start(target, seed=1, explorer=None):
    """Run all checks of a target, whose gradient is among them if it has one."""
    if explorer is None:
        explorer = target.explorer or ("hmc" if target.has_gradient else "slice")
    return sterna.sample(target, n_rounds=1, n_scans=2, seed=seed, explorer=explorer, progress=False)
