"""How much memory a run needs, so that one that cannot fit says so before it starts."""

from sterna.engine.program import N_LOG_DENSITIES
from sterna.engine.record import MAX_BATCHES
from sterna.errors import OptionError
from sterna.explorers.base import Bound
from sterna.ground.numbers import in_bytes, machine_memory
from sterna.result.settings import Settings

BYTES = 8
# About so many sums per chain and batch does a round record.
SUMS_PER_BATCH = 20


def draws_bytes(settings: Settings, n_chains: int, dimension: int) -> int:
    """Return the bytes of the draws that the sampling phase keeps, with their log-likelihoods."""
    kept = 1 if settings.keep == "target" else n_chains
    return BYTES * settings.n_copies * (settings.n_scans // settings.thin) * kept * (dimension + 1)


def record_bytes(settings: Settings, n_chains: int) -> int:
    """Return the bytes of what else grows with scans: the chain of each replica, also while tuning, and energies."""
    tuning_scans: int = 2 ** (settings.n_rounds + 1) - 2
    positions = 2 * (tuning_scans + settings.n_scans)
    # of one round at a time
    last_round: int = 2**settings.n_rounds
    energies = BYTES * max(settings.n_scans, last_round)
    return settings.n_copies * n_chains * (positions + energies)


def explorer_bytes(settings: Settings, n_chains: int, dimension: int, bound: Bound) -> int:
    """Return the bytes of states and of what explorers learn, which do not depend on the number of scans."""
    last_round: int = 2**settings.n_rounds
    batches = min(MAX_BATCHES, max(settings.n_scans, last_round))
    per_chain = dimension + N_LOG_DENSITIES + bound.n_row + SUMS_PER_BATCH * batches
    return int(BYTES * n_chains * (settings.n_copies * per_chain + bound.n_parameters))


def fits_memory(settings: Settings, n_chains: int, dimension: int, bound: Bound) -> bool:
    """Return whether a run of these settings fits into memory while its records are copied into longer ones."""
    draws, records = draws_bytes(settings, n_chains, dimension), record_bytes(settings, n_chains)
    return 2 * (draws + records) + explorer_bytes(settings, n_chains, dimension, bound) <= machine_memory()


def check_memory(settings: Settings, n_chains: int, dimension: int, bound: Bound, explorer: str) -> None:
    """Refuse a run that needs more memory than there is, and say which part needs most of it."""
    n_scans = settings.n_scans
    draws, records = draws_bytes(settings, n_chains, dimension), record_bytes(settings, n_chains)
    explorers = explorer_bytes(settings, n_chains, dimension, bound)
    needed, available = draws + records + explorers, machine_memory()
    if needed <= available:
        return
    how = f"{n_chains} chains, {settings.n_copies} {'copy' if settings.n_copies == 1 else 'copies'}"
    start = f"This run would need {in_bytes(needed)} of memory, and there are {in_bytes(available)}:"
    if explorers >= max(draws, records):
        raise OptionError(
            f"{start} {in_bytes(explorers)} for the {dimension} coordinates of {how} and what the explorer {explorer} "
            'learns about them. Give fewer n_chains or n_copies, or an explorer that learns less, such as "slice".'
        )
    if records > draws:
        raise OptionError(
            f"{start} {in_bytes(records)} to follow {how} through n_rounds={settings.n_rounds}, in which round r has "
            f"2**r scans, and n_scans={n_scans}. Give fewer of them."
        )
    of_all = "" if settings.keep == "target" else ' keep="target",'
    raise OptionError(
        f"{start} {in_bytes(draws)} for the draws of n_scans={n_scans} ({how}, {dimension} coordinates). Give{of_all} "
        "a larger thin, which keeps every thin-th draw, or a smaller n_scans."
    )
