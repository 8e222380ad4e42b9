"""The studies of complementarity: the elastic block they stand on, and a quick run of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import matrix_classes
from clapas.problems.gallery import elastic_rectangle
from clapas.problems.lcp import LCP
from clapas.solvers import NSGS, solve
from clapas.solvers.lcp import Lemke, LemkeTableau, solve_lcp
from clapas.studies import registry
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.lcp_contact import compare, path
from clapas.studies.lcp_punch import _punch
from clapas.studies.lcp_rectangle import PRINTED_COUNTS, LCPRectangle
from clapas.studies.report import Report


def test_a_clamped_block_is_definite_and_a_guided_one_floats() -> None:
    clamped = ElasticBlock(contacts=6, rows=3).frictionless().dense
    assert matrix_classes.smallest_eigenvalue(clamped) > 0
    guided = ElasticBlock(contacts=6, rows=3, held="guided").frictionless().dense
    assert np.abs(guided @ np.ones(6)).max() < 1e-9 * np.abs(guided).max()


def test_a_guided_block_carries_its_load() -> None:
    block = ElasticBlock(contacts=10, rows=4, held="guided", gap=0.0, loaded=(0.0, 0.3), pressure=1e6)
    solution = solve_lcp(block.frictionless(), Lemke())
    assert solution.w.sum() == pytest.approx(0.3 * 1e6)


def test_without_friction_both_forms_agree() -> None:
    block = ElasticBlock(contacts=8, rows=4)
    forces = solve_lcp(block.frictionless(), Lemke(tol=1e-12)).w
    problem = block.with_friction(0.0)
    r = solve(problem, NSGS(tol=1e-10)).r
    np.testing.assert_allclose(r[:, 0], forces, atol=1e-6 * forces.max())
    assert forces.max() > 0


@pytest.mark.parametrize("name", ["lcp-rectangle", "lcp-punch", "lcp-friction"])
def test_quick_runs(tmp_path: Path, name: str) -> None:
    kind = registry.find(name)
    report = Report(tmp_path, kind.title)
    kind(**kind.quick).run(report)
    report.close()
    assert report.text.count("| -") >= 1
    assert "not in" not in report.text
    assert "Printed numbers and verdicts" in report.text


def test_granular_quick_run(tmp_path: Path) -> None:
    kind = registry.find("granular-lcp")
    report = Report(tmp_path, kind.title)
    kind(sizes=1, limit=0.2, tol=1e-4).run(report)
    assert "Directions of LATIN on 3" in report.text  # 20 discs: some 35 contacts
    assert "That is not found" in report.text
    assert (tmp_path / "own-limits.png").is_file()


def test_the_printed_counts_of_the_original_matrix(tmp_path: Path) -> None:
    report = Report(tmp_path, "original")
    compare(report, "original", elastic_rectangle(), PRINTED_COUNTS)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in report.text.splitlines()]
    counts = {row[0]: row[1:] for row in rows if len(row) == 4}
    assert counts["Gauss-Seidel"] == ["182", "182", "182"]
    assert counts["conjugate gradient"] == ["36", "39", "41"]
    assert [counts[f"LATIN, k = {k}"][1] for k in (0.09, 0.2, 0.3, 0.5, 0.7)] == [
        "51",
        "35",
        "54",
        "92",
        "129",
    ]


@pytest.mark.parametrize(
    ("pressure", "contacts", "largest"), [(30e6, 2, 0.116), (300e6, 8, None), (3000e6, 41, None)]
)
def test_contacts_of_the_curved_punch_grow_with_the_load(
    pressure: float, contacts: int, largest: float | None
) -> None:
    found = solve_lcp(_punch(51, pressure).frictionless(), Lemke(tol=1e-9))
    assert int((found.w > 1e-6 * found.w.max()).sum()) == contacts
    assert found.w.sum() == pytest.approx(pressure)
    if largest is not None:
        assert found.z.max() == pytest.approx(largest, abs=1e-3)


def test_an_unfinished_path_is_complementary_but_not_balanced() -> None:
    """At every pivot z, w ≥ 0 and zᵀw = 0, while each row of M z + q − w is −z₀, until it has left."""
    problem = ElasticBlock(contacts=20, pressure=200e6).frictionless()
    states = list(path(problem))
    force = np.abs(problem.q).max()
    for w, z, artificial in states:
        assert min(w.min(), z.min()) >= 0.0
        assert z @ w == 0.0
        np.testing.assert_allclose(problem.slack(z) - w, -artificial, atol=1e-9 * force)
    left = [artificial for _, _, artificial in states]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0.0


def test_units_do_not_change_the_pivots() -> None:
    """Newtons or meganewtons: as many pivots, and no more lost digits."""
    problem = ElasticBlock(contacts=60, pressure=200e6).frictionless()
    other = LCP(1e-6 * problem.dense, 1e-6 * problem.q)
    one, two = (solve_lcp(p, LemkeTableau(ties="first")) for p in (problem, other))
    assert one.iterations == two.iterations
    assert two.residual < 1e-12


def test_a_matrix_that_is_not_there() -> None:
    with pytest.raises(SettingsError, match="there is no file 'nowhere'"):
        LCPRectangle(matrix="nowhere")
