"""The compiled projection of augmented forces beside its formula, and its derivatives beside differences."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.elastic.contact import ContactRows
from clapas.solvers.newton.augmentation import Augmentation
from clapas.statics.elastic.law import project
from clapas.typing import Array


def sample(d: int) -> tuple[ContactRows, Array, Array, Augmentation]:
    generator = np.random.default_rng(d)
    n, m = 300, 2 * d
    rows = ContactRows(
        np.zeros((n, m), dtype=np.int64),
        generator.normal(size=(n, d, m)),
        generator.normal(size=n),
        generator.normal(size=(n, d - 1)),
    )
    mu = generator.choice([0.0, 0.3, 2.0], n)
    rho = Augmentation(generator.uniform(0.1, 1.0, n), generator.uniform(0.1, 1.0, n))
    return rows, generator.normal(size=(n, d)), mu, rho


def formula(rows: ContactRows, r: Array, mu: Array, rho: Augmentation) -> Array:
    x = np.maximum(r[:, 0] - rho.normal * rows.gap, 0.0)
    y = r[:, 1:] - rho.tangent[:, None] * rows.slip
    length = np.linalg.norm(y, axis=1)
    share = np.minimum(1.0, mu * x / np.where(length > 0.0, length, 1.0))
    return np.column_stack((x, share[:, None] * y))


@pytest.mark.parametrize("d", [2, 3])
def test_forces_are_those_of_the_formula_in_every_region(d: int) -> None:
    rows, r, mu, rho = sample(d)
    law = project(rows, rows.H, r, mu, rho)
    np.testing.assert_allclose(law.p, formula(rows, r, mu, rho), rtol=0, atol=1e-14)
    assert set(np.unique(law.region)) == set(range(4 if d == 2 else 10))


@pytest.mark.parametrize("d", [2, 3])
def test_derivatives_are_those_of_differences(d: int) -> None:
    rows, r, mu, rho = sample(d)
    law = project(rows, rows.H, r, mu, rho)
    h = 1e-6
    for axis in range(d):
        step = h * np.eye(d)[axis]
        slope = (formula(rows, r + step, mu, rho) - formula(rows, r - step, mu, rho)) / (2.0 * h)
        np.testing.assert_allclose(law.by_r[:, :, axis], slope, rtol=0, atol=1e-7)
    for k in range(rows.H.shape[2]):
        sides = []
        for sign in (1.0, -1.0):
            gap = rows.gap + sign * h * rows.H[:, 0, k]
            slip = rows.slip + sign * h * rows.H[:, 1:, k]
            sides.append(formula(ContactRows(rows.dofs, rows.H, gap, slip), r, mu, rho))
        np.testing.assert_allclose(law.by_u[:, :, k], (sides[0] - sides[1]) / (2.0 * h), rtol=0, atol=1e-7)
