from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import clapas
from clapas.convex import coulomb
from clapas.convex.coulomb_kernels import jacobian_contacts, project_contacts
from clapas.typing import Array


def cases(d: int, seed: int) -> tuple[Array, Array]:
    """Random vectors of many sizes, plus axes, origin and boundaries, under many frictions."""
    rng = np.random.default_rng(seed)
    n = 2000
    x = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-150, 150, size=(n, 1))
    mu = rng.choice([0.0, 1e-8, 0.3, 1.0, 7.0, 1e8, 1e150, 1e300], size=n)
    x[rng.random(size=n) < 0.1, 1:] = 0.0
    x[rng.random(size=n) < 0.1, 0] = 0.0
    x[rng.random(size=n) < 0.02] = 0.0
    boundary = rng.random(size=n) < 0.1
    x[boundary, 1:] = 0.0
    x[boundary, 1] = np.minimum(mu[boundary], 1.0) * np.abs(x[boundary, 0])
    return x, mu


@pytest.mark.parametrize("d", [2, 3])
def test_projection_equals_its_definition(d: int) -> None:
    x, mu = cases(d, seed=11)
    found = np.full_like(x, np.nan)
    project_contacts(x, mu, found)
    size = np.where((x == 0.0).all(axis=1), 1.0, np.abs(x).max(axis=1))[:, None]
    np.testing.assert_allclose(found / size, coulomb.project(x, mu) / size, rtol=0, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_jacobian_equals_its_definition(d: int) -> None:
    x, mu = cases(d, seed=12)
    found = np.full((*x.shape, d), np.nan)
    jacobian_contacts(x, mu, found)
    np.testing.assert_allclose(found, coulomb.jacobian(x, mu), rtol=0, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_projection_in_place(d: int) -> None:
    x, mu = cases(d, seed=13)
    apart = np.empty_like(x)
    project_contacts(x, mu, apart)
    project_contacts(x, mu, x)
    np.testing.assert_array_equal(x, apart)


@pytest.mark.parametrize("d", [2, 3])
def test_no_contacts(d: int) -> None:
    project_contacts(np.empty((0, d)), np.empty(0), np.empty((0, d)))
    jacobian_contacts(np.empty((0, d)), np.empty(0), np.empty((0, d, d)))


def test_the_definitions_do_not_need_the_compiler() -> None:
    # A bare package stands for clapas, so that what the package itself imports does not count.
    program = (
        "import sys, types\n"
        "bare = types.ModuleType('clapas')\n"
        f"bare.__path__ = {list(clapas.__path__)}\n"
        "sys.modules['clapas'] = bare\n"
        "import clapas.convex\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
