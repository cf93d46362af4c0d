"""Copy numbers along the genome of a cell as hidden Markov models (paper, section on copy number inference)."""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.errors import OptionError
from sterna.explorers.composition import Blocks, Cycle
from sterna.explorers.fitted import Fitted
from sterna.explorers.move import Move
from sterna.explorers.slice import Slice
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.kernels.copy_number_moves import log_of_states, move_p_with_states, scale_deviations
from sterna.models.kernels.hidden_chain import BLOCK, MAX_STATES, NO_READS, State, change, log_likelihood
from sterna.models.parameters import checked
from sterna.reference.reference import Reference
from sterna.reference.space import Integer, Real
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

FOLDER = "copy_number"

# Number of bins of half a million bases in the chromosomes 1 to 22, X and Y.
BINS = (
    499, 487, 397, 383, 362, 343, 319, 293, 283, 272, 271, 268,
    231, 215, 206, 181, 163, 157, 119, 127, 97, 103, 311, 119,
)  # fmt: skip
# How many of the bins have no GC content.
N_MISSING = 717


@checked
def copy_number(
    reads: ArrayLike | None = None,
    gc: ArrayLike | None = None,
    chromosomes: ArrayLike | None = None,
    single_deviation: bool = False,
) -> Target:
    r"""Parameters of hidden Markov models for the copy number along every chromosome of one cell.

    .. math::

        \tau \sim \text{Exp}(1), \quad f_0, f_1, f_2 \sim N(0, 10^2), \quad \sigma, \sigma' \sim \text{Exp}(0.1), \quad
        p \sim U(0, 1), \quad P(m_c = m) \propto p (1 - p)^m, \; m = 1, \dots, 20

    Chromosome c has the hidden states 0 to m_c - 1, its copy numbers. The first is uniform; from bin to bin a state
    stays with probability 1/m + (1 - 1/m) exp(-tau) and moves to each other state with probability (1 - exp(-tau))/m.
    With g the logarithm of a bin's GC content, the logarithm of its reads is normal in state x > 0:

    .. math::

        \log y \sim N(f_0 + f_1 (g + 1) + \tfrac12 f_2 (g + 1)^2 + \log x, (\sigma + \sigma' x)^2)

    In state 0 its density is 1/10 for every value. A bin without GC content is not observed; a bin without reads is in
    state 0. The hidden states are summed out, and the product over chromosomes is annealed. The variables are
    `switch_rate` (tau), `f`, `sd`, `sd_slope`, `p` and `n_states` (m). A profile and twice that profile explain the
    reads about equally well, so there are two modes, between which almost all of `n_states` must change together.

    Explored by slice sampling: `n_states` by local changes, which evaluate one chromosome, and the others by whole
    evaluations. Joint moves (`copy_number_moves.py`) and proposals fitted to the last round quadruple the restarts.

    Parameters
    ----------
    reads, gc, chromosomes
        Number of reads, GC content (not positive if unknown) and chromosome of every bin. By default the files
        copy_number/7.csv and copy_number/gc.csv of the data folder; without a folder, 6206 bins simulated from the
        model.
    single_deviation
        Whether all states have the same deviation, as in the paper's text; its code has `sd_slope`.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.copy_number(reads=[90, 110, 200], gc=[0.4, -1, 0.5], chromosomes=["1", "1", "X"])
    >>> target.dimension, target.space.variables[-1].shape
    (9, (2,))
    """
    given = [part is not None for part in (reads, gc, chromosomes)]
    if any(given) and not all(given):
        raise OptionError("copy_number: only some of reads, gc and chromosomes are given; give all three, or none.")
    simulated = False
    if reads is None or gc is None or chromosomes is None:
        reads_file, gc_file = data_file(FOLDER, "7.csv"), data_file(FOLDER, "gc.csv")
        simulated = reads_file is None or gc_file is None
        reads, gc, chromosomes = (
            simulate(np.random.default_rng(SEED))
            if reads_file is None or gc_file is None
            else read(reads_file, gc_file)
        )
    checked = _check(reads, gc, chromosomes)
    data = lay_out(*checked)
    with_slope = {} if single_deviation else {"sd_slope": Real(lower=0)}
    space = {"switch_rate": Real(lower=0), "f": Real(shape=3), "sd": Real(lower=0), **with_slope, "p": Real(0, 1)}
    space["n_states"] = Integer(1, MAX_STATES, shape=len(data["starts"]) - 1)
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


def read(reads_file: Path, gc_file: Path) -> tuple[FloatArray, FloatArray, list[str]]:
    """Read the number of reads and the GC content of every bin; both files must list the same bins."""
    columns = []
    for path in (reads_file, gc_file):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        columns.append([(row["chromosomes"], row["positions"], float(row["value"])) for row in rows])
    if [row[:2] for row in columns[0]] != [row[:2] for row in columns[1]]:
        raise OptionError(
            f"{reads_file} and {gc_file} do not list the same bins in the same order; give matching files."
        )
    reads, gc = (np.array([row[2] for row in rows]) for rows in columns)
    return reads, gc, [row[0] for row in columns[0]]


def simulate(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
    """Simulate a cell of at most three copies, with parameters like those of a real one."""
    chromosomes = np.repeat(np.arange(len(BINS)), BINS)
    gc = rng.uniform(0.34, 0.6, len(chromosomes))
    gc[rng.choice(len(gc), N_MISSING, replace=False)] = -1.0
    reads = np.empty(len(gc))
    for c in range(len(BINS)):
        bins = chromosomes == c
        reads[bins] = draw_reads(rng, np.log(np.maximum(gc[bins], 0.1)), 0.01, (5.4, 3.0, -6.0), (0.1, 0.02), 4)
    return reads, gc, chromosomes


def draw_reads(
    rng: np.random.Generator,
    g: FloatArray,
    switch_rate: float,
    f: tuple[float, float, float],
    deviations: tuple[float, float],
    n_states: int,
) -> FloatArray:
    """Simulate the reads along a chromosome; in state 0 their logarithm is uniform on [0, 10], with density 1/10."""
    moves = rng.random(len(g)) < -math.expm1(-switch_rate)
    moves[0] = True
    fresh = rng.integers(0, n_states, len(g))
    # a move draws a state uniformly, which may be the same state again
    states = fresh[np.maximum.accumulate(np.where(moves, np.arange(len(g)), 0))]
    mean = f[0] + f[1] * (g + 1.0) + 0.5 * f[2] * (g + 1.0) ** 2 + np.log(np.maximum(states, 1))
    noisy = rng.normal(mean, deviations[0] + deviations[1] * states)
    return np.exp(np.where(states > 0, noisy, rng.uniform(0.0, 10.0, len(g))))


def _check(
    reads: ArrayLike, gc: ArrayLike, chromosomes: ArrayLike
) -> tuple[FloatArray, FloatArray, NDArray[np.generic]]:
    counts, contents, names = np.asarray(reads), np.asarray(gc), np.asarray(chromosomes)
    if counts.ndim != 1 or not counts.shape == contents.shape == names.shape or counts.size == 0:
        raise OptionError("copy_number(reads=..., gc=..., chromosomes=...): give three vectors of the same length.")
    if counts.dtype.kind not in "iuf" or contents.dtype.kind not in "iuf":
        raise OptionError("copy_number(reads=..., gc=...): both must be numeric; give vectors of numbers.")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise OptionError("copy_number(reads=...): a number of reads is negative or not finite; give counts from 0 up.")
    return counts.astype(np.float64), contents.astype(np.float64), names


def lay_out(reads: FloatArray, gc: FloatArray, chromosomes: NDArray[np.generic]) -> dict[str, FloatArray | IntArray]:
    """Arrange the bins with a GC content as the recursion reads them, chromosome by chromosome.

    `steps` counts the bins since the previous one with a GC content. The arrays are padded by one block.
    """
    observed = gc > 0
    bins, steps, starts = [], [], [0]
    for name in dict.fromkeys(chromosomes.tolist()):
        of_chromosome = np.flatnonzero(chromosomes == name)
        seen = np.flatnonzero(observed[of_chromosome])
        bins.append(of_chromosome[seen])
        # the first state is uniform, a distribution that steps do not change
        steps.append(np.diff(seen, prepend=seen[:1]))
        starts.append(starts[-1] + len(seen))
    order = np.concatenate(bins)
    log_reads = np.where(reads[order] > 0, np.log(np.where(reads[order] > 0, reads[order], 1.0)), NO_READS)
    padding = np.zeros(BLOCK)
    g = np.concatenate([np.log(gc[order]) + 1.0, padding])
    return {
        "g": g,
        "half_square": 0.5 * g * g,
        "log_reads": np.concatenate([log_reads, padding]),
        "steps": np.concatenate([*steps, np.zeros(BLOCK, dtype=np.int64)]),
        "starts": np.array(starts, dtype=np.int64),
    }


def draw(rng: np.random.Generator, starts: IntArray, slopes: int) -> FloatArray:
    """Draw all parameters as one vector."""
    x = np.empty(State.first_n_states + slopes + starts.size - 1)
    x[State.switch_rate] = max(rng.exponential(1.0), 1e-300)
    x[State.f : State.sd] = rng.normal(0.0, 10.0, 3)
    for k in range(State.sd, State.p + slopes):
        x[k] = max(rng.exponential(10.0), 1e-300)
    p = max(rng.random(), 1e-300)
    x[State.p + slopes] = p
    stay = math.log1p(-p)
    within = -math.expm1(MAX_STATES * stay)
    for k in range(State.first_n_states + slopes, x.size):
        x[k] = min(1.0 + math.floor(math.log1p(-within * rng.random()) / stay), float(MAX_STATES))
    return x


def log_reference(x: FloatArray, slopes: int) -> float:
    """Return the log-density of all parameters."""
    total = -x[State.switch_rate]
    for k in range(State.f, State.sd):
        total -= 0.005 * x[k] * x[k] + math.log(10.0) + 0.5 * math.log(2.0 * math.pi)
    for k in range(State.sd, State.p + slopes):
        total += math.log(0.1) - 0.1 * x[k]
    first = State.first_n_states + slopes
    states = 0.0
    for k in range(first, x.size):
        states += x[k]
    return total + log_of_states(x[State.p + slopes], states, x.size - first)


def reference_change(x: FloatArray, i: int, new: float, slopes: int) -> float:
    """Return the change of the reference's log-density when coordinate i becomes `new`."""
    first = State.first_n_states + slopes
    if i >= first:
        return (new - x[i]) * math.log1p(-x[first - 1])
    if i == State.switch_rate:
        return x[i] - new
    if i < State.sd:
        return 0.005 * (x[i] - new) * (x[i] + new)
    if i < first - 1:
        return 0.1 * (x[i] - new)
    states = 0.0
    for k in range(first, x.size):
        states += x[k]
    count = x.size - first
    return log_of_states(new, states, count) - log_of_states(x[i], states, count)
