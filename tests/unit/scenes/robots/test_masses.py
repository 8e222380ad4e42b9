"""Masses as the compiler element of MJCF makes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.scenes.robots import read_robot
from clapas.scenes.robots.description import Inertia

BODIES = """<mujoco><compiler {compiler}/><worldbody>
  <body name="both"><freejoint/><inertial mass="2" pos="0 0 1" diaginertia="1 2 4"/>
    <geom size="0.1" mass="1"/></body>
  <body name="geom" pos="1 0 0"><freejoint/><geom type="box" size="0.1 0.2 0.3" mass="0.5" pos="0.1 0 0"/>
    <body name="nothing"><joint/></body></body>
</worldbody></mujoco>"""


def inertias(tmp_path: Path, compiler: str) -> dict[str, Inertia | None]:
    (path := tmp_path / "robot.xml").write_text(BODIES.format(compiler=compiler))
    return {link.name: link.inertia for link in read_robot(path).links}


def moments(inertia: Inertia | None) -> list[float]:
    assert inertia is not None
    return sorted(np.linalg.eigvalsh(inertia.tensor))


BALL = [0.4 * 1.0 * 0.1**2] * 3
BOX = sorted(0.5 / 3 * np.array([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.1**2 + 0.2**2]))


@pytest.mark.parametrize(
    ("given", "mass", "expected"),
    [("auto", 2.0, [1.0, 2.0, 4.0]), ("false", 2.0, [1.0, 2.0, 4.0]), ("true", 1.0, BALL)],
)
def test_masses_come_from_geoms_where_the_file_says_so(
    given: str, mass: float, expected: list[float], tmp_path: Path
) -> None:
    found = inertias(tmp_path, f'inertiafromgeom="{given}"')
    assert found["both"] is not None
    assert found["both"].mass == pytest.approx(mass)
    assert moments(found["both"]) == pytest.approx(expected)
    assert found["nothing"] is None
    if given == "false":
        assert found["geom"] is None
    else:
        assert moments(found["geom"]) == pytest.approx(BOX)


def test_masses_and_moments_have_lower_bounds(tmp_path: Path) -> None:
    found = inertias(tmp_path, 'boundmass="0.7" boundinertia="0.015"')
    assert [one.mass for one in found.values() if one] == pytest.approx([2.0, 0.7, 0.7])
    assert moments(found["geom"]) == pytest.approx(np.maximum(BOX, 0.015))
    assert moments(found["nothing"]) == pytest.approx([0.015] * 3)


def test_moments_that_no_body_has_become_their_mean(tmp_path: Path) -> None:
    found = inertias(tmp_path, 'balanceinertia="true"')
    assert moments(found["both"]) == pytest.approx([7 / 3] * 3)
    assert moments(found["geom"]) == pytest.approx(BOX)


def test_a_total_mass_scales_all_bodies(tmp_path: Path) -> None:
    found = inertias(tmp_path, 'settotalmass="10"')
    assert [one.mass for one in found.values() if one] == pytest.approx([8.0, 2.0])
    assert moments(found["both"]) == pytest.approx([4.0, 8.0, 16.0])
    assert found["both"] is not None
    assert found["both"].centre == (0.0, 0.0, 1.0)
