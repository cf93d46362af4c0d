"""One short file per package: `run(problem, seed, settings)` returns an `Outcome`."""
