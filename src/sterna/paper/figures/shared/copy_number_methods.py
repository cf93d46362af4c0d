"""Four methods on copy numbers, which three figures show."""

from __future__ import annotations

import numpy as np

from sterna import models
from sterna.models.copy_number import FOLDER, read
from sterna.models.data import data_file
from sterna.paper.figure import Tables, select, table
from sterna.paper.figures.shared import methods
from sterna.paper.study import Study
from sterna.types import BoolArray

SHOWN = 1000
# Modes differ in their log-likelihood by much less, and draws that have not reached them by thousands.
REACHED = 300.0
SHARE = "the paper's 5000 scans for each method; MMV-DEO is left out"
PARAMETERS = ("switch_rate", "f_0", "f_1", "f_2", "sd", "sd_slope", "p")


def compute(study: Study) -> Tables:
    """Run NRPT with 50 and with 25 chains, the explorer alone, and MMV."""
    rounds, scans = study.choose((10, 2954), (4, 30))
    target = models.copy_number()
    chosen = [
        methods.nrpt(50, rounds, scans, "NRPT, 50 chains"),
        methods.nrpt(25, rounds, scans, "NRPT, 25 chains"),
        methods.chain_alone(rounds, scans),
        methods.mmv(study.choose(2500, 30), study.choose(5000, 50)),
    ]
    found = methods.run_methods(study, "copy_number", target, chosen)
    rows = [row for one in found for row in _rows(one)]
    names = [f"m_{c}" for c in range(found[0].values["n_states"].shape[1])]
    return {
        "draws": table(("method", "draw", "log_likelihood", *PARAMETERS, *names), rows),
        "methods": methods.methods_table(found),
    } | _bins()


def _rows(one: methods.Drawn) -> list[tuple[object, ...]]:
    kept = methods.thinned(len(one.log_likelihood), SHOWN)
    own = [np.asarray(one.values[name])[kept].reshape(len(kept), -1) for name in ("switch_rate", "f", "sd", "sd_slope")]
    others = [np.asarray(one.values[name])[kept].reshape(len(kept), -1) for name in ("p", "n_states")]
    columns = np.column_stack([one.log_likelihood[kept], *own, others[0]])
    counts = others[1].astype(int)
    return [(one.method, int(k), *row, *m) for k, row, m in zip(kept, columns, counts.tolist(), strict=True)]


def _bins() -> Tables:
    """Return the data, if they are files."""
    reads_file, gc_file = data_file(FOLDER, "7.csv"), data_file(FOLDER, "gc.csv")
    if reads_file is None or gc_file is None:
        return {"bins": table(("chromosome", "reads", "gc"), [])}
    reads, gc, names = read(reads_file, gc_file)
    return {"bins": {"chromosome": np.array(names), "reads": reads, "gc": gc}}


def in_upper_mode(tables: Tables, method: str) -> BoolArray:
    """Return which draws of a method belong to the doubled genome: f_0 is lower by log 2 there.

    The two modes are told apart by the middle between the highest and the lowest f_0 of all tempered draws, and only if
    these are further apart than half of log 2. A draw whose likelihood is far below the best has not reached any mode.
    """
    draws = tables["draws"]
    lowest = draws["log_likelihood"].max() - REACHED
    tempered = np.array(["NRPT" in name for name in draws["method"].tolist()])
    low, high = np.quantile(draws["f_0"][tempered & (draws["log_likelihood"] > lowest)], [0.01, 0.99])
    own = select(draws, method=method)
    if high - low < 0.5 * np.log(2.0):
        return np.zeros(len(own["f_0"]), dtype=np.bool_)
    return np.asarray((own["f_0"] < 0.5 * (low + high)) & (own["log_likelihood"] > lowest))
