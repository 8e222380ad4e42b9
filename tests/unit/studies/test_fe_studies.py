"""The studies of finite elements in contact: their numbers, and a quick run of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Solid, Support, block
from clapas.geometry.shapes import HalfPlane
from clapas.solvers.lcp import Lemke, solve_lcp
from clapas.statics.elastic import ElasticContact, OneLoopNewton, condense, follow
from clapas.studies import registry
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.fe_drawing import drawing_force, flange
from clapas.studies.fe_hertz import hertz, partial_slip
from clapas.studies.report import Report


@pytest.mark.parametrize("name", ["fe-signorini", "fe-hertz", "fe-impact", "fe-drawing"])
@pytest.mark.slow
def test_quick_runs(tmp_path: Path, name: str) -> None:
    kind = registry.find(name)
    report = Report(tmp_path, kind.title)
    kind(**kind.quick).run(report)
    assert report.text.count("| -") >= 1
    assert list(tmp_path.glob("*.png"))


def test_figure_3_of_alart() -> None:
    """N^T K^-1 N of rows of one, two and three unit squares held above (Q4, plane strain, E = 1, ν = 0.3)."""
    printed = {
        1: [2.582, -0.878],
        2: [2.2143, -0.1424, -0.0714],
        3: [2.2, -0.145, 0.0246, -0.041],
    }
    for n, first_row in printed.items():
        solid = Solid(
            mesh=block((float(n), 1.0), (n, 1)), material=Elastic(young=1.0, poisson=0.3), bbar=False
        )
        floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()))
        small = condense(ElasticContact(solid=solid, supports=[Support("top", "xy")], contacts=[floor]))
        W = np.linalg.inv(small.A)[1::2, 1::2]
        np.testing.assert_allclose(W[0], first_row, atol=0.012)


@pytest.mark.parametrize("kind", ["line", "point"])
def test_hertz_within_two_percent(kind: str) -> None:
    coarse, fine = hertz(4, kind), hertz(10, kind)
    for found, tol in ((coarse, 0.03), (fine, 0.02)):
        assert found.width == pytest.approx(found.exact_width, rel=tol)
        assert found.pressure == pytest.approx(found.exact_pressure, rel=tol)


def test_mindlins_stick_zone_to_one_cell() -> None:
    slip = partial_slip(6, increments=3)
    assert slip.load[-1] > 0.6
    np.testing.assert_allclose(slip.stick, slip.exact, atol=1.0 / 6)


def test_contacts_of_the_curved_punch_follow_the_load() -> None:
    found = []
    for pressure in (30e6, 300e6, 3000e6):
        punch = ElasticBlock(
            contacts=51,
            held="guided",
            gap=0.0,
            curvature=0.12,
            pressure=pressure,
            loaded=(0.0, 1.0),
            height=0.4,
        )
        w = solve_lcp(punch.frictionless(), Lemke(tol=1e-9)).w
        found.append(int((w > 1e-6 * w.max()).sum()))
    assert found == [2, 8, 41]


def test_flow_in_cycles_with_elastic_r_and_passes_with_the_safeguard() -> None:
    press, drawn = flange(0.5, 0.5, 50.0, 5e-4)
    start = OneLoopNewton().solve(press)
    plain = OneLoopNewton(tangent="elastic", safeguard=False, max_iterations=100)
    failed = plain.solve(drawn, start, check=False)
    assert not failed.status.is_solved
    assert failed.orders
    found = OneLoopNewton(max_iterations=100).solve(drawn, start)
    assert found.orders
    assert found.cuts >= 1
    many = follow(drawn, start, increments=8, newton=OneLoopNewton(max_iterations=100)).last
    assert drawing_force(drawn, found) == pytest.approx(drawing_force(drawn, many), rel=0.01)
