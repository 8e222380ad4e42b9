"""Laws of links on the lines of the local stage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.multiscale.laws import Coulomb, Springs

number = st.floats(-10.0, 10.0)
positive = st.floats(0.1, 10.0)


@given(k=positive, l=positive, t0=number, s=number, cable=st.booleans())
def test_springs_meet_their_law_on_the_line(k: float, l: float, t0: float, s: float, cable: bool) -> None:
    law = Springs(np.array([k]), np.array([t0]), np.array([cable]))
    t = law.meet(np.array([s]), np.array([l]))
    e = (s - t) / l
    assert t == pytest.approx(law.forces(e), abs=1e-9 * (abs(s) + abs(t0) + 1))
    assert not cable or t >= 0.0


@given(
    s=st.tuples(number, number, number), w=st.tuples(number, number, number), l=positive, mu=st.floats(0, 2)
)
def test_contacts_meet_coulombs_law_on_the_line(
    s: tuple[float, float, float], w: tuple[float, float, float], l: float, mu: float
) -> None:
    zero = np.zeros((1, 3))
    law = Coulomb(np.array([mu]), np.array([w]), np.ones(1), zero, zero, zero)
    line = np.array(s)
    t = law.meet(line, np.full(3, l))
    r, u = -t, (line - t) / l + np.array(w)
    eps = 1e-9 * (1 + np.abs(u).max() + np.abs(r).max()) ** 2
    assert r[0] >= 0.0
    assert u[0] >= -eps
    assert abs(r[0] * u[0]) <= eps
    assert np.hypot(r[1], r[2]) <= mu * r[0] + eps
    slip = np.hypot(u[1], u[2])
    assert r[1:] @ u[1:] == pytest.approx(-mu * r[0] * slip, abs=eps)  # largest dissipation


def test_a_compliant_contact_gives_way_by_itself() -> None:
    zero = np.zeros((1, 2))
    law = Coulomb(np.array([0.5]), zero, np.ones(1), np.array([[1.0, 0.0]]), zero, zero)
    r = -law.meet(np.array([-2.0, 0.0]), np.ones(2))
    assert r == pytest.approx([1.0, 0.0])  # u_N = e + C r = (−2 + r) + r = 0


def test_tangents_and_energy_of_springs_agree() -> None:
    law = Springs(np.array([2.0, 2.0]), np.array([1.0, 1.0]), np.array([True, False]))
    e, h = np.array([-0.3, -0.9]), 1e-6
    for i in range(2):
        step = h * np.eye(2)[i]
        assert (law.energy(e + step) - law.energy(e - step)) / (2 * h) == pytest.approx(law.forces(e)[i])
    assert law.tangent(np.array([-0.6, -0.6])).tolist() == [0.0, 2.0]
