"""Terms of log-likelihoods that several models share; they are compiled with the function that calls them."""

import math


def times_log(count: float, value: float) -> float:
    """Return count * log(value), with 0 * log(0) = 0."""
    if count == 0:
        return 0.0
    return count * math.log(value) if value > 0.0 else -math.inf


def binomial(successes: int, trials: int, probability: float, log_coefficient: float) -> float:
    """Return the log-probability of a binomial number of successes."""
    if probability < 0.5:
        # log1p, because 1 - probability would lose the digits of a small probability
        failure = math.log1p(-probability) * (trials - successes)
    else:
        failure = times_log(trials - successes, 1.0 - probability)
    return log_coefficient + times_log(successes, probability) + failure


def binomial_slope(successes: int, trials: int, probability: float) -> float:
    """Return the derivative of `binomial` with respect to the probability; 0 if that is 0 or 1."""
    if probability <= 0.0 or probability >= 1.0:
        return 0.0
    return successes / probability - (trials - successes) / (1.0 - probability)


def log_coefficient(successes: int, trials: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)


def log_sigmoid(value: float) -> float:
    """Return log(1 / (1 + exp(-value))), accurate for any value."""
    return min(value, 0.0) - math.log1p(math.exp(-abs(value)))
