"""Targets of one real variable, mu."""

import sterna


def scalar_target(function, data=None):
    return sterna.Target(function, {"mu": sterna.Normal()}, data)


def value_of(target, mu=1.5):
    return target.log_densities(mu=mu)[1]
