"""All that a reader of a result may look at, to compare results of two processes."""


def arrays(dataset):
    return {
        "dims": {name: dataset[name].dims for name in dataset.variables},
        "values": {name: dataset[name].values.tolist() for name in dataset.variables},
        "attributes": dict(dataset.attrs),
    }


def groups(tree):
    """The groups of an `InferenceData`, or of a `DataTree` of ArviZ 1."""
    names = tree.groups() if callable(tree.groups) else tree.children
    return {name: arrays(tree[name]) for name in names}


def shown(result):
    """The contents of a result as text, NaN included."""
    found = {
        "name": result.target.name,
        "variables": result.target.space.names,
        "posterior": arrays(result.posterior),
        "values": {name: values.tolist() for name, values in result.target.values(result.states).items()},
        "chains": arrays(result.chains) if result.settings.keep == "all" else None,
        "summary": result.summary,
        "report": str(result),
        "dict": result.to_dict(),
        "warnings": result.warnings,
        "notes": result.notes,
        "swaps": result.swaps.tolist(),
        "barrier": result.cumulative_barrier([0.1, 0.7]).tolist(),
        "curve": result.evidence_curve([0.1, 0.7]).tolist(),
        "arviz": groups(result.to_arviz()),
        "without log-likelihood": groups(result.to_arviz(log_likelihood=False)),
    }
    return repr(found)
