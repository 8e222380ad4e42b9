"""Quick runs of the studies of existence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.convex.coulomb import project_dual
from clapas.errors import SettingsError
from clapas.studies import registry
from clapas.studies.existence import ExistenceCriterion, limit
from clapas.studies.painleve import Painleve
from clapas.studies.report import Report


def test_painleve_counts_as_on_paper(tmp_path: Path) -> None:
    report = Report(tmp_path, Painleve.title)
    Painleve(steps=3).run(report)
    assert report.text.count("9 of 9") == 6
    assert (tmp_path / "solutions.png").exists()
    assert (tmp_path / "margins.png").exists()


def test_existence_below_one(tmp_path: Path) -> None:
    kind = registry.find("existence")
    report = Report(tmp_path, kind.title)
    kind(**kind.quick).run(report)
    assert "| alea-42-5 |    0.36 |     yes | certified |" in report.text
    assert (tmp_path / "ratios.png").exists()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0, 4.0])
def test_statistical_dimension_is_the_mean_of_squared_projections(mu: float, d: int) -> None:
    """δ(K*) = E |P(g)|², g Gaussian: the definition, against the closed form of the limit d / (d − δ)."""
    g = np.random.default_rng(0).standard_normal((100_000, d))
    dimension = float(np.mean(np.sum(project_dual(g, np.full(len(g), mu)) ** 2, axis=1)))
    assert limit(np.array([mu]), d) == pytest.approx(d / (d - dimension), rel=0.02)


def test_settings() -> None:
    with pytest.raises(SettingsError, match="steps must be at least 2, got 1"):
        Painleve(steps=1)
    with pytest.raises(SettingsError, match="draws at least 1, got 3 and 0"):
        ExistenceCriterion(instances=3, draws=0)
