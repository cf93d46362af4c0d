"""The runs of the paper's 16 models, which two figures show."""

from __future__ import annotations

from sterna.paper.figure import Tables
from sterna.paper.figures.shared.round_tables import round_tables
from sterna.paper.runs import QUICK_ROUNDS, QUICK_SCANS, Case
from sterna.paper.study import Run, Study
from sterna.paper.tables import TABLE1

# Of the paper's table of models, the mixture appears once; Wright-Fisher is of the comparison.
CASES = [case for case in TABLE1 if case.label not in ("mixture_150", "wright_fisher")]
# Scans of these take longer than those of others.
QUICK = {"copy_number": (4, 30), "phylo_cancer": (6, 126)}
SHARE = "the paper's scans; 16 models, of which the data of phylo_cancer are another tumour's"


def run_of(case: Case, study: Study) -> Run:
    """Return the run of a row of the table of models."""
    quick = QUICK.get(case.label, (QUICK_ROUNDS, QUICK_SCANS))
    rounds, scans = study.choose((case.n_rounds, case.n_scans), quick)
    explorations = 1 if case.heavy else case.explorations
    return Run(case.label, case.model, case.n_chains, rounds, scans, case.options, explorations=explorations)


def compute(study: Study) -> Tables:
    """Run all models with the paper's numbers of chains."""
    runs = [run_of(case, study) for case in CASES]
    return round_tables([(run.label, result) for run, result in study.results(runs)], curves="last")
