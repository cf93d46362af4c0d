"""What a run is asked for, when its answer is right, and which reason a warning or an error names."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

import sterna
from sterna.tuning.estimate import Estimate, student_quantile
from sterna.tuning.mean_errors import mean_of, share_of

# A right answer is within 4 of its standard errors, or within as many as Student's distribution has at the same level:
# one in 16 000 right errors is taken for a wrong one.
ALLOWED_ERRORS = 4.0
LEVEL = 1.0 - 2.0 * float(ndtr(-ALLOWED_ERRORS))
# Errors of fewer degrees of freedom count as having this many, for which it is 6.6 errors; otherwise no answer of a few
# journeys would be wrong.
MIN_FREEDOM = 10.0
# Larger errors are no answer: of log Z, and of a mean in units of the posterior standard deviation.
MAX_EVIDENCE_ERROR, MAX_RELATIVE_ERROR = 1.0, 0.5
# An answer that is so far from the truth has run away, and only a warning that says so has the right reason.
FAR_AWAY = 1e6

RIGHT, RIGHT_REASON, OTHER_REASON, SILENT = "right", "right reason", "other reason", "silently wrong"
OUTCOMES = (RIGHT, RIGHT_REASON, OTHER_REASON, SILENT)

# Kinds of warnings: the first pattern that a text contains names its kind.
WARNINGS = {
    "unknown evidence": r"evidence is (unknown|poorly known)",
    "constant likelihood": r"log-likelihood is .+ at all draws",
    "few chains": r"Too few chains|reference is far from",
    "few restarts": r"\b(No|Only \d+) (restart|journey)s?",
    "run away": r"r[au]n(s|ning)? away|cancel|rounding",
    "tails": r"\btails?\b",
    "slow": r"Exploration is slow|run is too short:",
    "diverged": r"diverged",
    "estimators": r"Estimators of the evidence disagree",
    "moved": r"has not converged: the log evidence was",
    "R-hat": r"R-hat",
    "unseen modes": r"others are likely|mixture lacks was met|narrower ones may be missing",
    "missed mass": r"[Mm]ass\b|\bmissed\b|not visited|never visited|no replica has been",
    "journeys": r"single journey",
}
# Kinds of errors: every pattern that a message contains.
ERRORS = {
    "local change": r"local_change",
    "gradient": r"gradient",
    "draws": r"draw and log_density do not describe the same distribution",
    "noisy": r"twice|same point|two calls|repeat",
    "compiled": r"when compiled|as Python it|overflow",
    "data": r"no data are called|is not used by any function|\bdata\[",
    "returned": r"must return|returned\b",
    "infinite": r"is \+inf",
    "run away": WARNINGS["run away"],
}
UNKNOWN_KIND, UNKNOWN_ERROR, CRASH, TOO_LONG = "unknown kind", "unknown error", "crash", "too long"

# Said of a run whose replicas have not been everywhere often enough. To state an error as unknown is as good.
MIXING = frozenset(
    {
        "few restarts",
        "journeys",
        "unseen modes",
        "missed mass",
        "R-hat",
        "moved",
        "estimators",
        "unknown evidence",
        UNKNOWN_ERROR,
    }
)


class TooLong(Exception):  # noqa: N818
    """A run has taken more CPU time than the battery allows."""


@dataclass(frozen=True)
class Truth:
    """The exact mean of a function of the draws, and its standard deviation under the target."""

    name: str
    exact: float
    spread: float
    of: Callable[[Mapping[str, Any]], np.ndarray]
    """From the values of variables, (copies, draws, ...), to (copies, draws)."""


@dataclass(frozen=True)
class DefaultRun:
    """A run of a target with default settings."""

    build: Callable[[], sterna.Target]

    def __call__(self, seed: int) -> sterna.Result:
        """Run it."""
        return sterna.sample(self.build(), seed=seed, progress=False)


@dataclass(frozen=True)
class Problem:
    """A run with default settings whose answers are known; a warning of a sick one may give any of its `reasons`."""

    name: str
    run: Callable[[int], sterna.Result]
    log_evidence: float | None = None
    truths: tuple[Truth, ...] = ()
    reasons: frozenset[str] | None = None

    @property
    def healthy(self) -> bool:
        """Whether default settings should give right answers without a warning."""
        return self.reasons is None


@dataclass(frozen=True)
class Answer:
    """A number that a run states, with its error, beside the truth."""

    name: str
    exact: float
    value: float
    error: float
    low: float
    high: float
    """Ends of the interval that should hold the truth with probability LEVEL."""
    max_error: float

    @property
    def known(self) -> bool:
        """Whether the run states an error at all."""
        return math.isfinite(self.error)

    @property
    def deviation(self) -> float:
        """Difference from the truth in standard errors."""
        off = abs(self.value - self.exact)
        if self.error == 0:
            return math.inf if off > 0 else 0.0
        return off / self.error

    @property
    def right(self) -> bool:
        """Whether the truth is within the interval, and the error not absurd."""
        if not (math.isfinite(self.value) and self.known and self.error <= self.max_error):
            return False
        # exact answers differ by rounding
        slack = 1e-9 * max(1.0, abs(self.exact))
        return bool(self.low - slack <= self.exact <= self.high + slack)


@dataclass
class Outcome:
    """How one run ended."""

    name: str
    seed: int
    healthy: bool
    answers: list[Answer] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    outcome: str = ""
    evaluations: int = 0
    restarts: int = 0
    seconds: float = 0.0

    @property
    def false_alarm(self) -> bool:
        """Whether a healthy problem was warned about."""
        return self.healthy and bool(self.kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        answers = [asdict(one) | {"deviation": one.deviation, "right": one.right} for one in self.answers]
        return asdict(self) | {"answers": answers, "false_alarm": self.false_alarm}


def share(name: str, exact: float, of: Callable[[Mapping[str, Any]], np.ndarray]) -> Truth:
    """The probability of an event."""
    return Truth(name, exact, math.sqrt(exact * (1.0 - exact)), of)


def mean(variable: str, exact: float, spread: float, *index: int) -> Truth:
    """The mean of a variable, or of one entry of it."""
    where = (..., *index)
    return Truth(f"mean of {variable}{list(index) or ''}", exact, spread, lambda values: values[variable][where])


def stated(found: Estimate) -> tuple[float, float, float, float]:
    """Value, standard error and interval of an estimate; errors of very few degrees of freedom are not stretched."""
    if not math.isfinite(found.error):
        return found.value, found.error, -math.inf, math.inf
    half = found.error * student_quantile(0.5 + 0.5 * LEVEL, max(found.freedom, MIN_FREEDOM))
    return found.value, found.error, found.value - half, found.value + half


def stated_mean(result: sterna.Result, draws: np.ndarray) -> tuple[float, float, float, float]:
    """Mean of a function of the target's draws, its standard error and interval, as sterna states them.

    This is the only place that knows how the library computes the error of a mean.
    """
    if draws.dtype != np.bool_:
        return stated(mean_of(np.asarray(draws, dtype=np.float64), result.journeys))
    found = share_of(draws, result.journeys)
    low, high = replace(found, freedom=max(found.freedom, MIN_FREEDOM)).interval(LEVEL)
    return found.value, found.error, low, high


def answers_of(problem: Problem, result: sterna.Result) -> list[Answer]:
    """Read from a result what the problem asks for."""
    answers = []
    if problem.log_evidence is not None:
        answers.append(Answer("log Z", problem.log_evidence, *stated(result.log_evidence), MAX_EVIDENCE_ERROR))
    for truth in problem.truths:
        found = stated_mean(result, truth.of(result.values))
        answers.append(Answer(truth.name, truth.exact, *found, MAX_RELATIVE_ERROR * truth.spread))
    return answers


def kind_of_warning(text: str) -> str:
    """Return the kind of a warning."""
    return next((kind for kind, pattern in WARNINGS.items() if re.search(pattern, text)), UNKNOWN_KIND)


def kinds_of_error(error: BaseException) -> list[str]:
    """Return all kinds that a message may be of; an error that sterna did not raise on purpose is a crash."""
    if isinstance(error, TooLong):
        return [TOO_LONG]
    if not isinstance(error, sterna.Error):
        return [CRASH]
    return [kind for kind, pattern in ERRORS.items() if re.search(pattern, str(error))] or [UNKNOWN_KIND]


def classify(problem: Problem, answers: list[Answer], kinds: list[str]) -> str:
    """Return one of OUTCOMES; without answers there was an error."""
    if answers and all(one.right for one in answers):
        return RIGHT
    if not kinds:
        return SILENT
    reasons = problem.reasons or frozenset()
    if any(abs(one.value - one.exact) > FAR_AWAY for one in answers):
        reasons &= {"run away"}
    return RIGHT_REASON if reasons.intersection(kinds) else OTHER_REASON


def outcome_of(problem: Problem, seed: int) -> Outcome:
    """Run a problem once."""
    outcome = Outcome(problem.name, seed, problem.healthy)
    try:
        result = problem.run(seed)
    except Exception as error:
        outcome.kinds, outcome.texts = kinds_of_error(error), [f"{type(error).__name__}: {error}"]
    else:
        outcome.answers = answers_of(problem, result)
        outcome.kinds, outcome.texts = [kind_of_warning(text) for text in result.warnings], list(result.warnings)
        if not all(one.known for one in outcome.answers):
            outcome.kinds.append(UNKNOWN_ERROR)
        outcome.evaluations, outcome.restarts = result.evaluations, result.restarts
    outcome.outcome = classify(problem, outcome.answers, outcome.kinds)
    return outcome
