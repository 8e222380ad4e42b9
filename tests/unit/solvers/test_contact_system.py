"""P dr + A W dr = b, solved in every space, against the equation itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import contact_system as systems
from clapas.solvers.contact_system import ContactSystem, Linearised, contact_system, multiply
from clapas.solvers.contact_system.bodies import BodySpace, GeneralBodySpace
from clapas.solvers.contact_system.contacts import FullContactSpace, SparseContactSpace
from tests.random_problems import random_global


def random_law(n: int, d: int, seed: int = 0) -> Linearised:
    rng = np.random.default_rng(seed)
    P, A = rng.standard_normal((2, n, d, d))
    return Linearised(P @ P.transpose(0, 2, 1) + np.eye(d), A @ A.transpose(0, 2, 1))


def check(system: ContactSystem, problem: ContactProblem) -> None:
    law = random_law(problem.n_contacts, problem.d)
    b = np.random.default_rng(1).standard_normal((problem.n_contacts, problem.d))
    dr = system.factorise(law)(b)
    got = multiply(law.P, dr) + multiply(law.A, problem.apply_delassus(dr))
    np.testing.assert_allclose(got, b, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("space", ["auto", "bodies", "contacts"])
def test_small_problems_with_any_masses(d: int, space: str):
    problem = random_global(0, n=6, bodies=4, d=d)
    check(contact_system(problem, space), problem)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["packing-plane-100", "packing-1000", "tower-10"])
@pytest.mark.parametrize("space", ["auto", "bodies", "contacts"])
def test_bodies_and_contacts_agree(name: str, space: str):
    problem = gallery.get(name).problem
    check(contact_system(problem, space), problem)  # type: ignore[arg-type]


def test_body_space_without_blocks():
    # Two hundred masses in a chain of springs: M is banded and no block diagonal by bodies.
    size, n = 400, 150
    M = sparse.diags_array(
        [np.full(size, 3.0), np.full(size - 1, -1.0), np.full(size - 1, -1.0)], offsets=[0, 1, -1]
    )
    rng = np.random.default_rng(2)
    H = sparse.csr_array(
        (rng.standard_normal(2 * n * 4), (np.repeat(np.arange(2 * n), 4), rng.integers(0, size, 8 * n))),
        shape=(2 * n, size),
    )
    problem = ContactProblem(M=M.tocsr(), H=H, f=np.ones(size), w=np.zeros((n, 2)), mu=np.full(n, 0.3))
    system = contact_system(problem, "bodies")
    assert isinstance(system, GeneralBodySpace)
    check(system, problem)


def test_choice_by_size(monkeypatch: pytest.MonkeyPatch):
    packing = gallery.get("packing-1000").problem
    assert isinstance(contact_system(gallery.get("packing-100").problem), FullContactSpace)
    assert isinstance(contact_system(packing), SparseContactSpace)
    monkeypatch.setattr(systems, "MOST_ENTRIES", 1000)
    assert isinstance(contact_system(packing), BodySpace)
    assert not isinstance(contact_system(reduce(packing)), BodySpace)


def test_the_reduced_form_has_no_bodies():
    problem = reduce(random_global(0, n=3, bodies=3, d=3))
    with pytest.raises(ProblemError, match="body space needs the global form"):
        contact_system(problem, "bodies")
    check(contact_system(problem), problem)


def test_a_given_inverse_is_used():
    law = random_law(2, 3)
    assert np.array_equal(Linearised(law.P, law.A, lambda: 2.0 * law.P).P_inverse, 2.0 * law.P)
    np.testing.assert_allclose(law.P_inverse @ law.P, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12)


@pytest.mark.parametrize("name", ["box-stack-10", "packing-1000"])
def test_singular_systems_are_told(name: str):
    problem = gallery.get(name).problem
    n, d = problem.n_contacts, problem.d
    zero = np.zeros((n, d, d))
    with pytest.raises(SingularMatrix):
        contact_system(problem).factorise(Linearised(zero, zero))
    with pytest.raises(SingularMatrix):
        contact_system(problem).factorise(Linearised(zero + np.nan, zero))


def test_no_contact():
    problem = gallery.get("no-contact").problem
    system = contact_system(problem)
    empty = np.zeros((0, 3, 3))
    assert system.factorise(Linearised(empty, empty))(np.zeros((0, 3))).shape == (0, 3)
