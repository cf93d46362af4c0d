"""Copy numbers along the genome of a cell, by hidden Markov models (paper, section on copy number inference)."""

import csv
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import OptionError
from sterna.explorers.composition import Blocks, Cycle
from sterna.explorers.fitted import Fitted
from sterna.explorers.move import Move
from sterna.explorers.slice import Slice
from sterna.models.copy_number_moves import log_of_states, move_p_with_states, scale_deviations
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.hidden_chain import BLOCK, MOST_STATES, NO_READS, change, log_likelihood
from sterna.reference.reference import Reference
from sterna.reference.space import Integer, Real
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

FOLDER = "copy_number"

# Bins of half a million bases in the chromosomes 1 to 22, X and Y, and how many bins have no GC content.
BINS = (
    499, 487, 397, 383, 362, 343, 319, 293, 283, 272, 271, 268,
    231, 215, 206, 181, 163, 157, 119, 127, 97, 103, 311, 119,
)  # fmt: skip
MISSING = 717


def copy_number(reads: Any = None, gc: Any = None, chromosomes: Any = None, single_deviation: bool = False) -> Target:
    r"""Parameters of hidden Markov models of the copy number along every chromosome of one cell.

    .. math::

        \tau \sim \text{Exp}(1), \quad f_0, f_1, f_2 \sim N(0, 10^2), \quad \sigma, \sigma' \sim \text{Exp}(0.1), \quad
        p \sim U(0, 1), \quad P(m_c = m) \propto p (1 - p)^m, \; m = 1, \dots, 20

    Chromosome c has the hidden states 0 to m_c - 1, its copy numbers. The first is uniform; from bin to bin a state
    stays with probability 1/m + (1 - 1/m) exp(-tau) and moves to each other one with (1 - exp(-tau))/m. With g the
    logarithm of a bin's GC content, the logarithm of its reads is normal in state x > 0:

    .. math::

        \log y \sim N(f_0 + f_1 (g + 1) + \tfrac12 f_2 (g + 1)^2 + \log x, (\sigma + \sigma' x)^2)

    In state 0 its density is 1/10, whatever it is. A bin without GC content says nothing; one without reads is in state
    0. The hidden states are summed out, and the product over chromosomes is annealed. The variables are `switch_rate`
    (tau), `f`, `sd`, `sd_slope`, `p` and `n_states` (m). A profile and its double explain the reads about equally well,
    so there are two modes, between which almost all of `n_states` must change at once.

    Explored by slices: `n_states` by local changes, which cost one chromosome; the others by whole evaluations. Joint
    moves (`copy_number_moves.py`) and proposals fitted to the last round make restarts four times as frequent.

    Parameters
    ----------
    reads, gc, chromosomes
        Number of reads, GC content (not positive if unknown) and chromosome of every bin. By default the files
        copy_number/7.csv and copy_number/gc.csv of the data folder; without one, 6206 bins simulated from the model.
    single_deviation
        Whether all states have one deviation, as the paper's text says; its code has `sd_slope`.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.copy_number(reads=[90, 110, 200], gc=[0.4, -1, 0.5], chromosomes=["1", "1", "X"])
    >>> target.dimension, target.space.variables[-1].shape
    (9, (2,))
    """
    given = [part is not None for part in (reads, gc, chromosomes)]
    if any(given) and not all(given):
        raise OptionError("copy_number(reads=..., gc=..., chromosomes=...): give all three, or none.")
    simulated = False
    if not any(given):
        files = [data_file(FOLDER, name) for name in ("7.csv", "gc.csv")]
        simulated = files[0] is None
        reads, gc, chromosomes = simulate(np.random.default_rng(SEED)) if simulated else read(*files)
    checked = _check(reads, gc, chromosomes)
    data = lay_out(*checked)
    with_slope = {} if single_deviation else {"sd_slope": Real(lower=0)}
    space = {"switch_rate": Real(lower=0), "f": Real(shape=3), "sd": Real(lower=0), **with_slope, "p": Real(0, 1)}
    space["n_states"] = Integer(1, MOST_STATES, shape=len(data["starts"]) - 1)
    whole = tuple(name for name in space if name not in ("p", "n_states"))
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space, local_change=reference_change),
        data | {"slopes": 0 if single_deviation else 1, "bins": len(checked[0])},
        local_change=change,
        explorer=Blocks(
            {
                whole: Cycle(Slice(passes=0.5, local=False), Move(scale_deviations), Fitted(moves=10)),
                ("p", "n_states"): Cycle(Slice(), Move(move_p_with_states)),
            }
        ),
        name="copy_number",
    )
    return say_simulated(target) if simulated else target


def read(reads_file: Any, gc_file: Any) -> tuple[FloatArray, FloatArray, list[str]]:
    """Read the number of reads and the GC content of every bin; both files must list the same bins."""
    columns = []
    for path in (reads_file, gc_file):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        columns.append([(row["chromosomes"], row["positions"], float(row["value"])) for row in rows])
    if [row[:2] for row in columns[0]] != [row[:2] for row in columns[1]]:
        raise OptionError(f"{reads_file} and {gc_file} do not list the same bins in the same order.")
    reads, gc = (np.array([row[2] for row in rows]) for rows in columns)
    return reads, gc, [row[0] for row in columns[0]]


def simulate(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
    """Draw a cell of at most three copies, with parameters like those of a real one."""
    chromosomes = np.repeat(np.arange(len(BINS)), BINS)
    gc = rng.uniform(0.34, 0.6, len(chromosomes))
    gc[rng.choice(len(gc), MISSING, replace=False)] = -1.0
    reads = np.empty(len(gc))
    for c in range(len(BINS)):
        own = chromosomes == c
        reads[own] = draw_reads(rng, np.log(np.maximum(gc[own], 0.1)), 0.01, (5.4, 3.0, -6.0), (0.1, 0.02), 4)
    return reads, gc, chromosomes


def draw_reads(
    rng: np.random.Generator,
    g: FloatArray,
    switch_rate: float,
    f: tuple[float, float, float],
    deviations: tuple[float, float],
    n_states: int,
) -> FloatArray:
    """Draw the reads along a chromosome; in state 0 their logarithm is uniform on [0, 10], of density 1/10."""
    moves = rng.random(len(g)) < -math.expm1(-switch_rate)
    moves[0] = True
    fresh = rng.integers(0, n_states, len(g))
    # whoever moves forgets its state, and may find the same again
    states = fresh[np.maximum.accumulate(np.where(moves, np.arange(len(g)), 0))]
    mean = f[0] + f[1] * (g + 1.0) + 0.5 * f[2] * (g + 1.0) ** 2 + np.log(np.maximum(states, 1))
    noisy = rng.normal(mean, deviations[0] + deviations[1] * states)
    return np.exp(np.where(states > 0, noisy, rng.uniform(0.0, 10.0, len(g))))


def _check(reads: Any, gc: Any, chromosomes: Any) -> tuple[FloatArray, FloatArray, NDArray[Any]]:
    counts, contents, names = np.asarray(reads), np.asarray(gc), np.asarray(chromosomes)
    if counts.ndim != 1 or not counts.shape == contents.shape == names.shape or counts.size == 0:
        raise OptionError("copy_number(reads=..., gc=..., chromosomes=...): give three vectors of one length.")
    if counts.dtype.kind not in "iuf" or contents.dtype.kind not in "iuf":
        raise OptionError("copy_number(reads=..., gc=...): give numbers.")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise OptionError("copy_number(reads=...): a number of reads is negative or not finite.")
    return counts.astype(np.float64), contents.astype(np.float64), names


def lay_out(reads: FloatArray, gc: FloatArray, chromosomes: NDArray[Any]) -> dict[str, Any]:
    """Bring the bins with a GC content into the form that the recursion reads, chromosome by chromosome.

    `steps` counts the bins since the last one with a GC content. Behind the last bin there is room for a block.
    """
    known = gc > 0
    places, steps, starts = [], [], [0]
    for name in dict.fromkeys(chromosomes.tolist()):
        own = np.flatnonzero(chromosomes == name)
        seen = np.flatnonzero(known[own])
        places.append(own[seen])
        # the first law is uniform, which no step changes
        steps.append(np.diff(seen, prepend=seen[:1]))
        starts.append(starts[-1] + len(seen))
    order = np.concatenate(places)
    log_reads = np.where(reads[order] > 0, np.log(np.where(reads[order] > 0, reads[order], 1.0)), NO_READS)
    room = np.zeros(BLOCK)
    g = np.concatenate([np.log(gc[order]) + 1.0, room])
    return {
        "g": g,
        "half_square": 0.5 * g * g,
        "log_reads": np.concatenate([log_reads, room]),
        "steps": np.concatenate([*steps, np.zeros(BLOCK, dtype=np.int64)]),
        "starts": np.array(starts, dtype=np.int64),
    }


def draw(rng, starts, slopes):  # type: ignore[no-untyped-def]
    """Draw all parameters as one vector."""
    x = np.empty(6 + slopes + starts.size - 1)
    x[0] = max(rng.exponential(1.0), 1e-300)
    x[1:4] = rng.normal(0.0, 10.0, 3)
    for k in range(4, 5 + slopes):
        x[k] = max(rng.exponential(10.0), 1e-300)
    p = max(rng.random(), 1e-300)
    x[5 + slopes] = p
    stay = math.log1p(-p)
    most = -math.expm1(MOST_STATES * stay)
    for k in range(6 + slopes, x.size):
        x[k] = min(1.0 + math.floor(math.log1p(-most * rng.random()) / stay), float(MOST_STATES))
    return x


def log_reference(x, slopes):  # type: ignore[no-untyped-def]
    """Return the log-density of all parameters."""
    total = -x[0]
    for k in range(1, 4):
        total -= 0.005 * x[k] * x[k] + math.log(10.0) + 0.5 * math.log(2.0 * math.pi)
    for k in range(4, 5 + slopes):
        total += math.log(0.1) - 0.1 * x[k]
    first = 6 + slopes
    states = 0.0
    for k in range(first, x.size):
        states += x[k]
    return total + log_of_states(x[5 + slopes], states, x.size - first)


def reference_change(x, i, new, slopes):  # type: ignore[no-untyped-def]
    """Return the change of the reference."""
    first = 6 + slopes
    if i >= first:
        return (new - x[i]) * math.log1p(-x[first - 1])
    if i == 0:
        return x[i] - new
    if i < 4:
        return 0.005 * (x[i] - new) * (x[i] + new)
    if i < first - 1:
        return 0.1 * (x[i] - new)
    states = 0.0
    for k in range(first, x.size):
        states += x[k]
    count = x.size - first
    return log_of_states(new, states, count) - log_of_states(x[i], states, count)
