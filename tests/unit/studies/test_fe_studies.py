"""The studies of finite elements in contact: their numbers, and a quick run of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Solid, Support, VonMises, block
from clapas.geometry.shapes import HalfPlane
from clapas.solvers.lcp import Lemke, solve_lcp
from clapas.statics.elastic import ElasticContact, OneLoopNewton, State, condense, follow
from clapas.studies import registry
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.fe_drawing import drawing_force, flange, punch_force, tools
from clapas.studies.fe_hertz import coupled_punch, flat_punch, hertz, partial_slip, spence
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
    press, drawn = flange(0.5, 0.1, 50.0, 5e-4, cells=16)
    start = OneLoopNewton().solve(press)
    failed = OneLoopNewton(tangent="elastic", safeguard=False).solve(drawn, start, check=False)
    assert not failed.status.is_solved
    assert failed.orders
    found = OneLoopNewton().solve(drawn, start)
    many = follow(drawn, start, increments=8).last
    assert drawing_force(drawn, found) == pytest.approx(drawing_force(drawn, many), rel=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [2e-3, 1e-2])
@pytest.mark.parametrize(("pressure", "mu"), [(0.05, 0.1), (0.5, 0.1), (0.5, 0.5)])
def test_a_drawing_step_passes_once_steps_are_damped(pressure: float, mu: float, draw: float) -> None:
    """Blank, punch, die and holder, in large strain: one increment, and the same answer in many."""
    press, drawn = tools(pressure, mu, draw)
    start = OneLoopNewton().solve(press)
    found = OneLoopNewton(max_iterations=100).solve(drawn, start)
    many = follow(drawn, start, increments=16, newton=OneLoopNewton(max_iterations=100)).last
    assert punch_force(drawn, found) == pytest.approx(punch_force(drawn, many), rel=0.02)


def test_whole_steps_wander_where_damped_ones_arrive() -> None:
    press, drawn = tools(0.05, 0.1, 2e-3)
    start = OneLoopNewton().solve(press)
    whole = OneLoopNewton(damping=False).solve(drawn, start, check=False)
    assert not whole.status.is_solved
    found = OneLoopNewton().solve(drawn, start)
    assert found.history[0]["accumulated"].max() == 0.0  # it yields on the way only


@pytest.mark.parametrize(("mu", "nu"), [(0.2, 0.3), (0.1, 0.4), (0.1, 0.45), (0.05, 0.45)])
def test_spences_punch_sticks_within_the_same_part_whatever_the_load(mu: float, nu: float) -> None:
    last, first = flat_punch(16, mu, nu)
    assert flat_punch(16, mu, nu, depth=1e-4) == (last, first)
    assert last - 1 / 16 <= spence(mu, nu) <= first + 1 / 16


@pytest.mark.parametrize(("mu", "nu"), [(0.4, 0.0), (0.2, 0.0), (0.4, 0.3)])
def test_the_stick_zone_is_that_of_the_coupled_half_plane(mu: float, nu: float) -> None:
    """Where β is not small friction changes the pressure, and the formula of Goodman does not hold."""
    last, first = flat_punch(16, mu, nu)
    coupled = coupled_punch(mu, nu)
    assert last - 1 / 16 <= coupled <= first + 1 / 16
    assert coupled < spence(mu, nu) - 0.03


def test_one_element_is_alarts_elastoplastic_oscillator() -> None:
    """A square in simple shear on a floor: bilinear, with friction; below (77) no load leads to a cycle.

    Weight is large and friction small, so that the couple of the shear force changes the normal forces by
    little.
    """
    G, yield_shear, hardening, mu, weight = 1.0, 0.5, 0.6, 4e-4, 1000.0
    metal = VonMises(young=2 * G, poisson=0.0, yield_stress=3**0.5 * yield_shear, isotropic=hardening)
    solid = Solid(mesh=block((1.0, 1.0), (1, 1)), material=metal)
    floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)
    elastic, S0 = 0.5 * G, 0.5 * yield_shear  # of each of the two nodes
    k = 0.5 * G * (hardening / 3) / (G + hardening / 3)
    K = elastic - k
    bound = 2 * k / (1 + S0 * K / (mu * weight * elastic))

    def solved(force: float, rho: float) -> State:
        load = np.zeros((4, 2))
        load[solid.mesh.group("bottom")] = (force, -weight)
        stage = ElasticContact(
            solid=solid, supports=[Support("top", "xy")], contacts=[floor], load=load.ravel()
        )
        return OneLoopNewton(rho=rho, safeguard=False).solve(stage, check=False)

    cycles = 0
    for force in np.linspace(0.0, 1.6, 33):
        found = solved(float(force), 0.99 * bound)
        assert found.status.is_solved
        spring = max(float(force) - mu * weight, 0.0)  # what friction leaves to the spring
        exact = spring / elastic if spring < S0 else S0 / elastic + (spring - S0) / k
        assert found.u[solid.dofs("bottom", "x")].mean() == pytest.approx(exact, abs=0.01)
        cycles += solved(float(force), 10.0 * bound).orders == (2,)
    assert cycles >= 4
