"""The example of a Gymnasium environment keeps the rules of Gymnasium and gives its number."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "examples" / "cart_pole.py"


@pytest.fixture(scope="module")
def cart_pole() -> ModuleType:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    specification = importlib.util.spec_from_file_location("cart_pole", PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_pole_falls_at_the_rate_known_on_paper(cart_pole: ModuleType) -> None:
    expected = math.sqrt(9.81 / (0.5 * (4 / 3 - 0.1 / 1.1)))
    assert cart_pole.main() == pytest.approx(expected, rel=2e-2)


def test_gymnasium_accepts_it(cart_pole: ModuleType) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(cart_pole.CartPole(), skip_render_check=True)


def test_episodes_are_the_same_for_the_same_seed(cart_pole: ModuleType) -> None:
    env, seen = cart_pole.CartPole(), []
    for _ in range(2):
        env.reset(seed=7)
        seen.append(np.array([env.step(k % 2)[0] for k in range(5)]))
    assert np.array_equal(*seen)
    assert seen[0].any()


def test_a_pole_that_is_pushed_one_way_falls(cart_pole: ModuleType) -> None:
    env = cart_pole.CartPole()
    env.reset(seed=0)
    ends = [env.step(1)[2] for _ in range(20)]
    assert ends[-1]
    assert not ends[0]
