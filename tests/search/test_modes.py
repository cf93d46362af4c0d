"""Modes of a mixture, basins of attraction with exact shares, and what climbs may have missed."""

import math

import numpy as np
import pytest
from landscapes import FunctionLandscape

import sterna.search.search as module
from sterna.result.mode_table import Mode, Modes
from sterna.search import mixture as mixtures
from sterna.search.curvature import Optimum
from sterna.search.mixture import Mixture, clouds, first_mixture, refitted, with_clouds, with_places
from sterna.search.modes import PARTED, Unseen, modes_of, shares_when_modes_part, unseen
from sterna.search.search import Search, search
from sterna.tuning.share import Share


def mixture_of(*components):
    """Return a mixture in one dimension of (weight, centre, standard deviation)."""
    weights, centres, spreads = (np.array(column, dtype=np.float64) for column in zip(*components, strict=True))
    return Mixture(weights / weights.sum(), centres[:, None], spreads[:, None, None])


@pytest.mark.parametrize(
    ("components", "modes"),
    [
        ([(1, -4, 1), (2, 4, 1)], [1, 0]),
        # no dip: two overlapping halves of one mode
        ([(1, -0.8, 1), (1, 0.8, 1), (1, 9, 1)], [0, 0, 1]),
        # a low and wide one between two modes joins one of them, but does not make them one
        ([(1, -4, 1), (1, 4, 1), (0.04, 0, 15)], [0, 1, 0]),
        # a ridge is one mode, from end to end
        ([(1, k, 1) for k in range(8)], [0] * 8),
        # a spike on a slab is not a mode of its own: there is no dip around it, on the way to the slab's centre
        ([(1, 0, 0.01), (1, 0.001, 1)], [0, 0]),
    ],
)
def test_components_without_a_dip_between_them_are_one_mode(components, modes):
    assert modes_of(mixture_of(*components)).tolist() == modes


def test_climbs_count_the_basins_of_optima():
    """Two parabolas meet at 1, so that from 5/9 of [-4, 5] a climb leads to -1, and from the rest to 3.

    A first step that is longer than the way to the border may cross it: that is 3 % of the starts at most.
    """

    def log_density(points):
        x = points[:, 0]
        return np.where(x < 1.0, -0.5 * (x + 1.0) ** 2, -0.5 * (x - 3.0) ** 2)

    # counted starts are uniform; others, all on one side, must not count
    number = 1500
    starts = np.random.default_rng(5).uniform(-4.0, 5.0, number)[:, None]
    starts[1::2] = 4.0
    counted = np.arange(number) % 2 == 0
    found = search(FunctionLandscape(log_density, 1), starts, np.ones(1), 10**6, Search(), counted)
    basins = {round(float(one.point[0])): one.basin for one in found.optima}
    left = counted & (starts[:, 0] < 1.0)
    assert basins[-1] + basins[3] == counted.sum()
    assert abs(basins[-1] - left.sum()) <= 0.03 * counted.sum()


def test_the_bound_of_what_is_unseen():
    """Good and Turing's estimate; with no mode seen just once, the bound is 3 / n."""
    assert unseen(np.array([700, 300])) == Unseen(1000, 0)
    assert Unseen(1000, 0).share == 0.0
    assert Unseen(1000, 0).upper == pytest.approx(-math.log(0.05) / 1000, rel=1e-6)
    some = unseen(np.array([997, 1, 1, 1]))
    assert some.share == 0.003
    assert 0.007 < some.upper < 0.008
    assert Unseen().share == Unseen().upper == 1.0


def test_the_bound_covers_what_is_unseen():
    """20 basins of unequal shares and 30 climbs: the true unseen share exceeds the 95 % bound in few of 2000 trials.

    Poisson's bound is for the number of modes seen once, which estimates the unseen share; false-alarm rate below 1e-6.
    """
    rng = np.random.default_rng(8)
    shares = 0.7 ** np.arange(20)
    shares /= shares.sum()
    beyond = 0
    for _ in range(2000):
        counts = rng.multinomial(30, shares)
        beyond += shares[counts == 0].sum() > unseen(counts).upper
    assert beyond < 0.05 * 2000 + 5 * math.sqrt(0.05 * 0.95 * 2000)


def test_a_mixture_follows_draws_and_keeps_what_they_do_not_know():
    rng = np.random.default_rng(3)
    first = mixture_of((1, -4, 0.5), (1, 4, 0.5))
    # the first component is in fact at -3.5 with standard deviation 0.2; the second has no draws; a third is new
    draws = np.concatenate([rng.normal(-3.5, 0.2, 4000), rng.normal(20.0, 2.0, 1000)])[:, None]
    fitted = refitted(first, draws)
    assert fitted.centres[:, 0] == pytest.approx([-3.5, 4.0, 20.0], abs=0.2)
    assert fitted.factors[:, 0, 0] == pytest.approx([0.2 * math.sqrt(1.5), 0.5, 2.0 * math.sqrt(1.5)], rel=0.05)
    assert fitted.weights[1] > 0.03
    assert fitted.weights[0] > 3 * fitted.weights[2]
    added = with_clouds(first, np.concatenate([draws, np.full((5, 1), 50.0)]))
    assert len(added.weights) == 3
    assert added.weights.sum() == pytest.approx(1.0)


def lacking_share(passes: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the share of draws of a bent distribution where a mixture lacks, after components were added."""
    monkeypatch.setattr(mixtures, "PASSES", passes)
    rng = np.random.default_rng(5)
    z = rng.standard_normal((3000, 2))
    draws = np.column_stack([3.0 * z[:, 0], 2.0 * (9.0 * z[:, 0] ** 2 - 9.0) / 9.0 + 0.1 * z[:, 1]])
    log_targets = -0.5 * (z**2).sum(axis=1) - math.log(2.0 * math.pi) - math.log(0.3)
    # around the middle of the bend only, in a wide prior
    first = Mixture(np.ones(1), np.array([[0.0, -2.0]]), np.diag([1.0, 0.2])[None])
    log_priors = np.full(3000, -math.log(1e6))
    found = with_places(first, draws, log_targets, log_priors)
    return float((log_targets - found.log_density(draws, log_priors) > 3.0 + math.log(1.5)).mean())


def test_components_are_added_where_the_target_is_far_denser_than_the_mixture(monkeypatch: pytest.MonkeyPatch):
    """The planted fault adds none: half of the draws are where the mixture has next to nothing."""
    assert lacking_share(5, monkeypatch) < 0.05
    assert lacking_share(0, monkeypatch) > 0.3


def test_the_density_of_a_mixture_has_the_prior_in_it():
    one = Mixture(np.array([0.25, 0.75]), np.array([[0.0], [3.0]]), np.array([[[1.0]], [[2.0]]]))
    x, log_prior = np.array([[1.0]]), np.array([-2.0])
    components = 0.25 * math.exp(-0.5) + 0.75 * math.exp(-0.5) / 2.0
    expected = 0.1 * math.exp(-2.0) + 0.9 * components / math.sqrt(2.0 * math.pi)
    assert one.log_density(x, log_prior) == pytest.approx(math.log(expected))


def test_a_cloud_of_draws_is_a_component_beside_optima():
    """A slab under a spike is no optimum."""
    draws = np.random.default_rng(4).normal(0.0, 1.0, (300, 6))
    assert len(clouds(draws)) == 1
    mixture = first_mixture([], draws, 2.0)
    assert mixture.centres.shape == (1, 6)
    assert first_mixture([], draws[:5], 2.0) is None
    # a spike of log mass 3 beside the cloud, which has the evidence, 2: nine tenths of the weight in that proportion
    spike = Optimum(np.zeros(6), 3.0 - 3.0 * math.log(2.0 * math.pi) - 6.0 * math.log(1e-3), 1e-3 * np.eye(6))
    share = 0.9 * math.e / (1.0 + math.e) + 0.05
    assert first_mixture([spike], draws, 2.0).weights == pytest.approx([share, 1.0 - share], abs=0.01)
    # an evidence that is not known yet does not decide
    assert first_mixture([spike], draws, math.nan).weights == pytest.approx([0.5, 0.5], abs=0.01)


def test_modes_print_as_a_table():
    mode = Mode({"x": np.array([1.0, 2.0])}, np.array([0.1, 0.4]), Share.of(0.25, 100), 7, Share.of(0.5, 1e6), 0.125)
    text = str(Modes((mode,), Unseen(8, 0)))
    assert "x[0]=1, x[1]=2" in text
    assert "12.50%" in text
    assert "0.2" in text
    assert mode.log_evidence.value == pytest.approx(0.5 + math.log(0.25))
    assert str(Modes()) == "No modes were looked for."


def two_normal_hills(points):
    """Hills of the same width: one evaluation tells on which of them a point is."""
    return np.logaddexp(*(-0.5 * ((points - centre) ** 2).sum(axis=1) for centre in (-5.0, 5.0)))


def checked_climbs():
    starts = np.random.default_rng(7).uniform(-10.0, 10.0, (1000, 2))
    found = search(FunctionLandscape(two_normal_hills, 2), starts, np.ones(2), 10**5, Search(), np.ones(1000, bool))
    assert len(found.optima) == 2
    assert 20 <= found.checked <= 50
    return found


def test_some_climbs_that_one_evaluation_has_ended_are_made_to_the_end():
    """Where both hills are equally high, the other may be promised: that is one start in a thousand."""
    assert checked_climbs().elsewhere <= 1


def test_climbs_that_lead_elsewhere_are_counted(monkeypatch):
    """A planted fault: one evaluation names the wrong hill."""
    labels_of = module.labels_of

    def wrong(landscape, hills, points, values, far):
        labels = labels_of(landscape, hills, points, values, far)
        return np.where(labels >= 0, (labels + 1) % len(hills), labels) if far else labels

    monkeypatch.setattr(module, "labels_of", wrong)
    found = checked_climbs()
    assert found.elsewhere >= found.checked - 1


def test_the_share_of_a_narrow_mode_where_modes_part():
    """Two components of d = 12 with widths 0.2 and 0.5 in a flat prior; in units of the wider one they are D apart."""
    d, apart = 12, 40.0
    weights, widths = np.array([0.1, 0.9]), np.array([0.2, 0.5])
    centres = np.zeros((2, d))
    centres[1, 0] = apart
    inflated = math.sqrt(1.5) * widths
    mixture = Mixture(weights, centres, inflated[:, None, None] * np.eye(d))
    beta = PARTED**2 / (apart / 0.5) ** 2
    mass = weights**beta * widths ** (d * (1 - beta))
    found = shares_when_modes_part(mixture, np.array([0, 1]), np.full(2, -3.0))
    assert found[0] == pytest.approx(mass[0] / mass.sum(), rel=1e-9)
    assert 1e-5 < found[0] < 3e-5
    # a prior that is denser there makes up for the width
    dense = shares_when_modes_part(mixture, np.array([0, 1]), np.array([0.0, 12 * math.log(0.2 / 0.5)]))
    assert dense[0] > 0.4
    assert shares_when_modes_part(mixture, np.zeros(2, dtype=np.int64), np.zeros(2)).tolist() == [1.0]
