"""Line searches on merits along a line known on paper."""

from __future__ import annotations

import pytest

from clapas.errors import SettingsError
from clapas.solvers.newton import Armijo, FullStep, GoldsteinPrice, LineSearch, Nonmonotone


def parabola(t: float) -> float:
    """The merit of a linear function, ½|Φ|² (1 − t)²: slope −2 at t = 0, least at 1."""
    return (1.0 - t) ** 2


def narrow(t: float) -> float:
    """A valley at t = 0.1 behind which the merit rises steeply: slope −2 at t = 0."""
    return 1.0 - 2.0 * t + 10.0 * t**2


@pytest.mark.parametrize("search", [FullStep(), Armijo(), Nonmonotone()])
def test_full_step_on_a_linear_function(search: LineSearch):
    assert search.step(parabola, [1.0]) == 1.0


def test_goldstein_price_goes_between_its_lines():
    t = GoldsteinPrice().step(narrow, [1.0])
    assert 1.0 - 1.8 * t <= narrow(t) <= 1.0 - 0.2 * t


def test_goldstein_price_lengthens_a_short_step():
    """The merit falls faster than predicted up to t = 4."""
    t = GoldsteinPrice(high=0.2).step(lambda t: 1.0 - 0.5 * t if t < 1.5 else 0.25 + 0.3 * (t - 1.5), [1.0])
    assert t > 1.0


def test_armijo_halves_until_the_merit_falls():
    assert Armijo().step(narrow, [1.0]) == 0.125
    assert FullStep().step(narrow, [1.0]) == 1.0


def test_nonmonotone_lets_the_merit_rise_below_a_past_one():
    past = [20.0, 1.0]
    assert Nonmonotone(memory=2).step(narrow, past) == 1.0
    assert Nonmonotone(memory=1).step(narrow, past) == 0.125


@pytest.mark.parametrize(
    "search", [Armijo(max_trials=3), Nonmonotone(max_trials=3), GoldsteinPrice(max_trials=3)]
)
def test_the_best_trial_when_none_is_good_enough(search: LineSearch):
    """A merit that only rises: the shortest step tried is the least bad."""
    assert search.step(lambda t: 1.0 + t, [1.0]) == 0.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Armijo(slope=0.5), "Armijo: slope must be between 0 and ½, got 0.5"),
        (lambda: Armijo(max_trials=0), "Armijo: max_trials must be at least 1, got 0"),
        (lambda: Nonmonotone(memory=0), "Nonmonotone: memory must be at least 1, got 0"),
        (lambda: Nonmonotone(slope=-1.0), "Nonmonotone: slope must be between 0 and ½, got -1.0"),
        (
            lambda: GoldsteinPrice(low=0.9),
            "GoldsteinPrice: expected 0 < low < high < 1, got low = 0.9, high = 0.9",
        ),
    ],
)
def test_bad_settings(make, message: str):
    with pytest.raises(SettingsError, match=message):
        make()
