"""The study of tensegrity grids and the point mass."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.studies import registry
from clapas.studies.point_mass import GRAVITY, PointMass, sinking
from clapas.studies.report import Report
from clapas.studies.tensegrity import Tensegrity


def test_a_quick_run(tmp_path: Path) -> None:
    study = registry.find("tensegrity")(modules=3, largest=3, limit=5.0, moving=1, bolted=2)
    report = Report(tmp_path, Tensegrity.title)
    study.run(report)
    rows = {cells[0]: cells[1:] for line in report.text.splitlines() if (cells := _cells(line))}
    assert rows["1 × 1"][-2:] == ["1", "3"]
    assert rows["9 × 9"][3] == "972"
    assert rows["4 × 4 modified"][-1] == "0"
    assert rows["kite"][-2:] == ["3", "3"]
    assert rows["guyed mast"][-2:] == ["1", "1"]
    assert rows["lemke"][0].startswith("9 (")
    assert "not solved" not in report.text
    assert "0.74 to 1.03 of the self-stress" in report.text
    assert {path.name for path in tmp_path.glob("*.png")} == {"forces.png", "deformed.png", "released.png"}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


@pytest.mark.parametrize("h", [0.05, 0.01, 0.002])
def test_the_law_in_velocity_gives_the_restitution_asked_for(h: float) -> None:
    heights, ratio = PointMass(h=h).velocity(0.5)
    assert ratio == pytest.approx(0.5)
    assert max(heights[len(heights) // 2 :]) < 0.1


def test_the_law_in_displacement_rebounds_by_the_step() -> None:
    rebounds = [PointMass(h=h, theta=0.5).displacement()[1] for h in (0.05, 0.01, 0.005)]
    assert rebounds == pytest.approx([0.94, 0.69, 0.39], abs=0.01)
    assert PointMass(h=0.01).displacement()[1] == 0.0


def test_the_elastic_ground_needs_its_correction() -> None:
    mass = PointMass(h=0.05, duration=10.0)
    assert mass.elastic(1e3)[-1] == pytest.approx(-GRAVITY / 1e3)
    assert sinking(mass.elastic(1e3, correct=False)) == pytest.approx(-GRAVITY / 1e3, rel=1e-2)
