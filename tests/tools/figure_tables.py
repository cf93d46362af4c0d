"""Synthetic tables of the paper's figures, in which all claims hold, and faults for which each must fail."""

import numpy as np

from sterna.paper.figure import table
from sterna.paper.figures import benchmark, copies, spike_slab_posterior
from sterna.paper.figures.shared.round_tables import CURVES, PAIRS, ROUNDS
from sterna.theory.barriers import normal_barrier, normal_local_barrier

RUNS = table(
    ("label", "model", "n_scans", "data", "budget"),
    [("first", "ising", 100, "the paper's or none", "full"), ("second", "mixture", 100, "simulated", "full")],
)
CRITICAL = 0.4406868


def rounds_of(label, total, n_chains, n_rounds=6, peaks=(), zero_share=0.0):
    """Tables of a run whose rejections are equal from the third round on, with peaks of lambda at some betas."""
    pairs, curves, rounds = [], [], []
    # schedules with equal rejections are dense where lambda is large
    grid = np.linspace(0.0, 1.0, 2001)
    local = 1.0 + sum(6.0 * np.exp(-0.5 * ((grid - at) / 0.05) ** 2) for at in peaks)
    if not peaks:
        local = 1.0 / (0.05 + grid)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (local[1:] + local[:-1]))])
    cumulative *= total / cumulative[-1]
    schedule = np.interp(np.linspace(0.0, total, n_chains), cumulative, grid)
    for number in range(1, n_rounds + 1):
        rejection = np.full(n_chains - 1, total / (n_chains - 1))
        if number < 3:
            rejection = np.clip(rejection * np.linspace(0.0, 2.0, n_chains - 1), 0, 1)
        steps = zip(schedule[:-1], schedule[1:], rejection, np.full(n_chains - 1, 1e-3), strict=True)
        pairs += [(label, number, k, *step) for k, step in enumerate(steps)]
        heights = local * total / local.mean()
        at = slice(None, None, 10)
        rows = zip(grid[at], heights[at], cumulative[at], cumulative[at], strict=True)
        curves += [(label, number, *row) for row in rows]
        sums = total, rejection.sum(), rejection.std(), zero_share
        rounds.append((label, number, 2**number, n_chains, *sums, -10.0 + 1.0 / number, 0.5))
    return pairs, curves, rounds


def joined(*parts, last=False):
    """Tables of several runs, with the barriers of all rounds or of the last one."""
    lists = [[row for part in parts for row in part[k]] for k in range(3)]
    names = ("pairs", "curves", "rounds")
    lists[1] = [row for row in lists[1] if row[1] == lists[2][-1][1]] if last else lists[1]
    return {n: table(heads, rows) for n, heads, rows in zip(names, (PAIRS, CURVES, ROUNDS), lists, strict=True)}


def swaps():
    paths = []
    for n in (8, 30):
        for scheme in ("seo", "deo"):
            order = np.arange(n + 1)
            for scan in range(100):
                paths += [(n, scheme, scan, k, chain) for k, chain in enumerate(order)]
                order = np.roll(order, 1)
    rates = [(8, "seo", 0.01), (8, "deo", 0.02), (30, "seo", 0.005), (30, "deo", 0.05)]
    return {
        "paths": table(("n", "scheme", "scan", "replica", "chain"), paths),
        "rates": table(("n", "scheme", "round_trip_rate"), rates),
    }


def round_trips_ess():
    best, rows = 1.0 / (2.0 + 2.0 * 2.3456), []
    for flips in (1, 25, 400):
        for n in (3, 20, 320):
            rate = best * (1.0 - 1.0 / n) * flips / (flips + 5.0 / n)
            rows.append((flips, n, 1000, rate, rate, best, 1000 * rate, flips * (n + 1)))
    heads = ("flips", "n", "scans", "rate", "predicted_rate", "optimal_rate", "ess", "cost_per_scan")
    return {"runs_by_size": table(heads, rows)}


def traces():
    rows, mixing = [], []
    for model in ("mixture", "ising"):
        for method, jumps in (("single chain", 0), ("NRPT", 50)):
            rows += [(model, method, k, float(k % 7), 10.0 + k) for k in range(50)]
            mixing.append((model, method, 500, jumps, 0.5, 0.3))
    heads = ("model", "method", "draws", "jumps", "share_above", "ess_of_v_per_draw")
    return {"traces": table(("model", "method", "scan", "x", "v"), rows), "mixing": table(heads, mixing)}


def sixteen_models():
    return joined(rounds_of("change_point", 4.0, 20), rounds_of("ising", 3.1, 30, peaks=(0.44,)), last=True)


def exploration():
    beta, local, totals = np.linspace(0.0, 1.0, 21), [], []
    for passes in (0.0, 0.5, 32.0):
        total = 6.0 if passes == 0 else 3.0
        local += [("ising", passes, b, total) for b in beta]
        totals.append(("ising", passes, total, total, 0.9))
    heads = ("model", "passes", "sum", "barrier", "autocorrelation")
    return {"local": table(("model", "passes", "beta", "local"), local), "totals": table(heads, totals)}


def copies_against_chains():
    rows = []
    for model, one in copies.MODELS.items():
        for factor in copies.FACTORS:
            best = one.best if factor == 2.0 else 1
            for k in copies.COPIES:
                rows.append((model, factor, k, 40 // k, 100, 0.1 - 0.02 * abs(k - best), 0.9 - 0.05 * k, 3.0))
    heads = ("model", "factor", "copies", "chains", "restarts", "rate", "acceptance", "barrier")
    return {"rates": table(heads, rows)}


def benchmark_rates():
    speed = {"NRPT": 100.0, "NRPT+SCM": 90.0, "ARR": 2.0, "MMV": 4.0}
    rows = [
        ("ising", method, f"spin[{k}]", *3 * [speed[method] * (1.0 + k)])
        for method in benchmark.METHODS
        for k in range(5)
    ]
    heads = ("model", "method", "variable", "ess_per_second", "series_per_second", "series_per_evaluation")
    return {"rates": table(heads, rows)}


def mixture_methods():
    names = ("NRPT", "single chain", "MMV", "MMV-DEO", "AIS", "SCM-5", "SCM-20", "SCM-100")
    rng = np.random.default_rng(1)
    draws, methods, modes = [], [], []
    for name in names:
        both = name in ("NRPT", "SCM-100")
        for k in range(100):
            low, high = rng.normal(100.0, 5.0), rng.normal(200.0, 5.0)
            draws.append((name, k, high, low) if both and k % 2 else (name, k, low, high))
        methods.append((name, 8, 100, 1000, 1000, 1.0, 10, 0.72, 0.6))
        modes.append((name, 0.5 if both else 1.0, 99 if both else 0, 0.0 if both else 1.0))
    return {
        "draws": table(("method", "draw", "mu_0", "mu_1"), draws),
        "methods": table(METHODS, methods),
        "modes": table(("method", "share_of_first_order", "switches", "distance_of_marginals"), modes),
    }


METHODS = (
    "method", "chains", "draws", "explorations", "evaluations", "seconds", "restarts", "acceptance", "worst_pair",
)  # fmt: skip


def limit_trajectories():
    rows = [(barrier, t, t % 2.0 if t % 2 < 1 else 2 - t % 2) for barrier in (1.0, 10.0) for t in range(5)]
    rates = [(barrier, 1000.0, barrier, 1.0 / (2.0 + 2.0 * barrier)) for barrier in (1.0, 10.0)]
    heads = ("barrier", "time", "turns_per_time", "restarts_per_time")
    return {"paths": table(("barrier", "time", "place"), rows), "rates": table(heads, rates)}


def gaussian_index():
    paths = [(n, scheme, k, k % n) for n in (10, 100) for scheme in ("seo", "deo") for k in range(3 * n)]
    rates = [
        (10, "seo", 100, 4.9, 0.03, 0.03),
        (10, "deo", 100, 4.9, 0.05, 0.05),
        (100, "seo", 100, 5.0, 0.004, 0.004),
        (100, "deo", 100, 5.0, 0.08, 0.08),
    ]
    heads = ("n", "scheme", "scans", "rejections", "restart_rate", "predicted_rate")
    return {"paths": table(("n", "scheme", "scan", "chain"), paths), "rates": table(heads, rates)}


def gaussian_barrier():
    beta = np.geomspace(1e-4, 1.0, 30)
    local, totals = [], []
    for ratio in (2, 10):
        exact = normal_local_barrier(beta, 8, float(ratio) ** 2)
        local += [(ratio, b, 1.01 * e, e) for b, e in zip(beta, exact, strict=True)]
        for d in (1, 8):
            value = float(normal_barrier(dim=d, precision=float(ratio) ** 2))
            totals.append((ratio, d, 1.01 * value, value, value))
    heads = ("ratio", "dim", "barrier", "rejections", "exact")
    return {"local": table(("ratio", "beta", "estimated", "exact"), local), "global": table(heads, totals)}


def ising_barrier():
    beta, local, totals = np.linspace(0.0, 1.0, 101), [], []
    for size, barrier in ((5, 3.04), (10, 6.46), (20, 13.3), (30, 20.2)):
        local += [(size, b, size * np.exp(-20.0 * (b - CRITICAL) ** 2)) for b in beta]
        totals.append((size, barrier, barrier))
    return {"local": table(("size", "beta", "local"), local), "global": table(("size", "barrier", "sum"), totals)}


def ising_rates():
    rates = []
    for scheme, schedule, few, many in (
        ("deo", "optimal", 0.01, 0.03),
        ("deo", "uniform", 0.005, 0.02),
        ("seo", "optimal", 0.006, 0.002),
        ("seo", "uniform", 0.001, 0.001),
    ):
        rates += [(15, scheme, schedule, few, 10, 13.2), (90, scheme, schedule, many, 10, 13.33)]
    betas = [*np.linspace(0.0, 0.4, 8), 0.43, 0.44, 0.45, 0.5, 0.7, 1.0]
    heads = ("n", "scheme", "schedule", "rate", "restarts", "barrier")
    return {"rates": table(heads, rates), "schedule": table(("chain", "beta"), list(enumerate(betas)))}


def slow_exploration():
    rows = [(10, 2.35, 0.149, 0.08, 100), (40, 2.34, 0.15, 0.12, 100), (640, 2.34, 0.15, 0.145, 100)]
    return {"rates": table(("chains", "barrier", "bound", "rate", "restarts"), rows)}


def spike_slab():
    rng = np.random.default_rng(1)
    draws = {name: rng.normal(size=400) * rng.integers(0, 2, 400) for name in spike_slab_posterior.COVARIATES}
    return {"draws": draws}


def ising_marginals():
    up = {"AIS": 0.0, "single chain": 1.0, "NRPT": 0.52, "SMC": 0.7}
    rows = [(name, vertex, share) for name, share in up.items() for vertex in range(20)]
    methods = [(name, 10, 100, 1000, 1000, 1.0, 10, 0.7, 0.6) for name in up]
    return {"marginals": table(("method", "vertex", "up"), rows), "methods": table(METHODS, methods)}


def scm_diagnostics():
    ess = [0.9, 0.7, 0.45, 0.9, 0.48, 0.9]
    rows = [(k + 1, 0.1 * 1.5**k, share, int(share < 0.5), -float(k)) for k, share in enumerate(ess)]
    return {"steps": table(("step", "beta", "ess", "resampled", "log_evidence"), rows)}


def copy_number():
    rng = np.random.default_rng(1)
    names = [f"m_{c}" for c in range(3)]
    rows, methods = [], []
    restarts = {"NRPT, 50 chains": 60, "NRPT, 25 chains": 9, "single chain": 0, "MMV": 0}
    acceptance = {"NRPT, 50 chains": 0.735, "NRPT, 25 chains": 0.488, "single chain": np.nan, "MMV": 0.29}
    for name in restarts:
        for k in range(40):
            upper = int("NRPT" in name and k % 4 == 0)
            f_0 = 5.4 - np.log(2.0) * upper + rng.normal(0.0, 0.01)
            counts = [3 + 2 * upper] * 3
            rows.append((name, k, -7000.0 + rng.normal(), 0.05, f_0, 3.0, -6.0, 0.1, 0.02, 0.3, *counts))
        methods.append((name, 50, 1000, 1000, 1000, 1.0, restarts[name], acceptance[name], 0.001))
    heads = ("method", "draw", "log_likelihood", "switch_rate", "f_0", "f_1", "f_2", "sd", "sd_slope", "p", *names)
    gc = rng.uniform(0.35, 0.5, 60)
    # chromosome 2 has one copy twice, and for a few bins one and a half
    copies_of = np.where((np.arange(60) > 50) & (np.arange(60) < 54), 1.5, 1.0)
    at = np.log(gc) + 1.0
    reads = np.exp(5.4 + 3.0 * at - 3.0 * at * at) * copies_of
    bins = {"chromosome": np.repeat(["1", "2", "X"], 20), "reads": np.roll(reads, -20), "gc": np.roll(gc, -20)}
    return {"draws": table(heads, rows), "methods": table(METHODS, methods), "bins": bins}


def mixture_rounds():
    return joined(rounds_of("mixture", 8.12, 30, peaks=(0.3, 0.8)))


def hierarchical_rounds():
    return joined(rounds_of("hierarchical", 12.03, 30))


def copy_number_rounds():
    return joined(rounds_of("copy_number", 13.0, 50))


TABLES = {
    "swaps": swaps,
    "round-trips-ess": round_trips_ess,
    "traces": traces,
    "schedule-mixture": mixture_rounds,
    "all-models": sixteen_models,
    "exploration": exploration,
    "copies": copies_against_chains,
    "benchmark": benchmark_rates,
    "mixture-means": mixture_methods,
    "limit-trajectories": limit_trajectories,
    "schedule-hierarchical": hierarchical_rounds,
    "gaussian-index": gaussian_index,
    "gaussian-barrier": gaussian_barrier,
    "ising-barrier": ising_barrier,
    "ising-rates": ising_rates,
    "slow-exploration": slow_exploration,
    "generators": sixteen_models,
    "spike-slab-posterior": spike_slab,
    "ising-marginals": ising_marginals,
    "scm-diagnostics": scm_diagnostics,
    "mixture-traces": mixture_methods,
    "mixture-diagnostics": mixture_rounds,
    "copy-number-curves": copy_number,
    "copy-number-marginals": copy_number,
    "copy-number-traces": copy_number,
    "copy-number-diagnostics": copy_number_rounds,
}


def tables_of(name):
    """Return the tables of a figure in which all its claims hold."""
    return {**TABLES[name](), "runs": RUNS}


def scaled(name, column, factor, **where):
    """Return a fault: a column of a table multiplied by a factor, in the rows with the given values."""

    def spoil(tables):
        part = tables[name]
        chosen = np.ones(len(part[column]), dtype=bool)
        for key, value in where.items():
            chosen &= part[key] == value
        assert chosen.any(), "the fault changes nothing"
        values = part[column].astype(float)
        values[chosen] *= factor
        if column in ("switches", "chains", "restarts", "resampled") or column.startswith("m_"):
            values = values.astype(int)
        return tables | {name: part | {column: values}}

    return spoil


def set_to(name, column, value, **where):
    """Return a fault: a column of a table with another value in some rows."""

    def spoil(tables):
        part = tables[name]
        chosen = np.ones(len(part[column]), dtype=bool)
        for key, wanted in where.items():
            chosen &= part[key] == wanted
        assert chosen.any(), "the fault changes nothing"
        values = part[column].copy()
        values[chosen] = value
        return tables | {name: part | {column: values}}

    return spoil


def noisy_rejections(tables):
    """Return tables whose rejections differ at the end as much as at the beginning."""
    pairs = tables["pairs"]
    jagged = np.where(pairs["pair"] % 2 == 0, 0.05, 0.9)
    return tables | {"pairs": pairs | {"rejection": jagged}}


PEAKLESS = set_to("pairs", "rejection", 1e-9, label="ising")

# Figure, words of the claim that must fail, and the fault.
FAULTS = [
    ("swaps", "scale differently", scaled("rates", "round_trip_rate", 0.1, n=30, scheme="deo")),
    ("swaps", "more round trips", scaled("rates", "round_trip_rate", 0.01, n=8, scheme="deo")),
    ("round-trips-ess", "correlates", lambda t: scaled("runs_by_size", "ess", 1e4, flips=400)(t)),
    ("round-trips-ess", "approaches its limit", scaled("runs_by_size", "rate", 0.5, flips=400)),
    ("round-trips-ess", "More exploration", scaled("runs_by_size", "rate", 0.1, flips=400)),
    ("round-trips-ess", "more chains", scaled("runs_by_size", "rate", 0.001, n=320)),
    ("round-trips-ess", "exact", scaled("runs_by_size", "optimal_rate", 1.2)),
    ("traces", "V mixes", scaled("mixing", "ess_of_v_per_draw", 0.01)),
    ("traces", "X does not mix", set_to("mixing", "jumps", 50)),
    ("traces", "NRPT jumps", set_to("mixing", "jumps", 0)),
    ("schedule-mixture", "inverse", lambda t: t | {"curves": t["curves"] | {"placement": t["curves"]["beta"] ** 2}}),
    ("schedule-mixture", "Rejections", noisy_rejections),
    ("schedule-mixture", "converge", scaled("pairs", "beta", 0.1, round=6)),
    ("all-models", ": rejections", noisy_rejections),
    ("all-models", "λ has a peak", PEAKLESS),
    ("all-models", "high and narrow", set_to("curves", "local", 1.0, label="change_point")),
    ("all-models", "evidence converges", scaled("rounds", "evidence", 3.0, round=6)),
    ("all-models", "evidence converges", set_to("rounds", "error", np.nan)),
    ("exploration", "consistent", scaled("totals", "sum", 1.5, passes=0.5)),
    ("exploration", "Without exploration", set_to("totals", "sum", 3.0)),
    ("copies", "with most exploration", scaled("rates", "rate", 5.0, model="ode", copies=1)),
    ("copies", "no fewer chains", set_to("rates", "acceptance", 0.3)),
    ("benchmark", "times faster than", set_to("rates", "series_per_second", 1.0)),
    ("benchmark", "start by SCM", scaled("rates", "series_per_second", 0.01, method="NRPT+SCM")),
    ("mixture-means", "captures", set_to("modes", "share_of_first_order", 1.0)),
    ("mixture-means", "does not capture", set_to("modes", "share_of_first_order", 0.5)),
    ("mixture-means", "budget", scaled("methods", "explorations", 0.5, method="AIS")),
    ("mixture-means", "Acceptance", set_to("methods", "acceptance", 0.5)),
    ("mixture-means", "selects", set_to("methods", "chains", 12)),
    ("limit-trajectories", "W turns", scaled("rates", "turns_per_time", 1.2)),
    ("limit-trajectories", ": restarts", scaled("rates", "restarts_per_time", 0.5)),
    ("schedule-hierarchical", "12.03", scaled("rounds", "rejections", 1.1)),
    ("schedule-hierarchical", "stabilises", scaled("rounds", "rejections", 0.8, round=6)),
    ("schedule-hierarchical", "converge", noisy_rejections),
    ("gaussian-index", "Λ = 5", scaled("rates", "rejections", 1.1)),
    ("gaussian-index", "decays", scaled("rates", "restart_rate", 10.0, n=100, scheme="seo")),
    ("gaussian-index", "grows", scaled("rates", "restart_rate", 0.1, n=100, scheme="deo")),
    ("gaussian-index", "approaches", scaled("rates", "restart_rate", 1.5, n=100, scheme="deo")),
    ("gaussian-barrier", "Estimates of Λ", scaled("global", "barrier", 1.1, dim=8, ratio=10)),
    ("gaussian-barrier", "λ agrees", scaled("local", "estimated", 1.2)),
    ("ising-barrier", "largest near", lambda t: t | {"local": t["local"] | {"local": t["local"]["beta"]}}),
    ("ising-barrier", "linearly", scaled("global", "barrier", 2.0, size=10)),
    ("ising-barrier", "13.33", scaled("global", "barrier", 1.1)),
    ("ising-barrier", "3.0414", scaled("global", "barrier", 1.1)),
    ("ising-rates", "13.33", scaled("rates", "barrier", 1.1)),
    ("ising-rates", "densest", set_to("schedule", "beta", 0.05, chain=2)),
    ("ising-rates", "reversible PT decays", scaled("rates", "rate", 10.0, n=90, scheme="seo")),
    ("ising-rates", "non-reversible PT increases", scaled("rates", "rate", 0.1, n=90, scheme="deo")),
    ("ising-rates", "uniform", scaled("rates", "rate", 5.0, n=90, schedule="uniform")),
    ("slow-exploration", "well estimated", scaled("rates", "bound", 1.2, chains=640)),
    ("slow-exploration", "approaches", scaled("rates", "rate", 0.3, chains=640)),
    ("generators", ": Λ is", scaled("rounds", "rejections", 1.2)),
    ("generators", "converge", scaled("rounds", "rejections", 1.3, round=6)),
    ("spike-slab-posterior", "multimodal", lambda t: t | {"draws": {k: v + 9.0 for k, v in t["draws"].items()}}),
    ("spike-slab-posterior", "alike", scaled("draws", "passenger_class", 0.0)),
    ("ising-marginals", "NRPT captures", scaled("marginals", "up", 0.5)),
    ("ising-marginals", "SMC detects", set_to("marginals", "up", 0.5)),
    ("ising-marginals", "misses a mode", set_to("marginals", "up", 0.5)),
    ("scm-diagnostics", "resampled when", set_to("steps", "resampled", 1)),
    ("scm-diagnostics", "increase", set_to("steps", "beta", 0.1)),
    ("mixture-traces", "NRPT switches", set_to("modes", "switches", 0)),
    ("mixture-traces", "does not switch", set_to("modes", "switches", 9)),
    ("mixture-diagnostics", "about 8", scaled("rounds", "rejections", 1.2)),
    ("mixture-diagnostics", "72 %", scaled("rounds", "rejections", 1.2)),
    ("mixture-diagnostics", "two peaks", set_to("pairs", "rejection", 1e-9)),
    ("copy-number-curves", "bimodal", set_to("draws", "f_0", 5.4)),
    ("copy-number-curves", "single chain misses", lambda t: _one_method(t, "single chain")),
    ("copy-number-curves", "odd copy numbers", set_to("bins", "reads", 0.0)),
    ("copy-number-marginals", "captures both modes", set_to("draws", "f_0", 5.4)),
    ("copy-number-marginals", "misses a mode", lambda t: _one_method(t, "single chain")),
    ("copy-number-traces", "jumps frequently", set_to("draws", "f_0", 5.4)),
    ("copy-number-traces", ": no jump", lambda t: _one_method(t, "MMV")),
    ("copy-number-traces", "more than twice", set_to("methods", "restarts", 9)),
    ("copy-number-traces", "Mean acceptance", set_to("methods", "acceptance", 0.3)),
    ("copy-number-traces", "nearly zero", set_to("methods", "worst_pair", 0.2)),
    ("copy-number-diagnostics", "Λ is 13", scaled("rounds", "rejections", 1.2)),
    ("copy-number-diagnostics", "73.5 %", scaled("rounds", "rejections", 1.2)),
    ("copy-number-diagnostics", "change little", scaled("pairs", "beta", 0.1, round=6)),
]


def _one_method(tables, method):
    """Return tables in which a method visits both modes."""
    draws = tables["draws"]
    own = draws["method"] == method
    f_0 = draws["f_0"].copy()
    f_0[own] -= np.where(draws["draw"][own] % 2, np.log(2.0), 0.0)
    return tables | {"draws": draws | {"f_0": f_0}}
