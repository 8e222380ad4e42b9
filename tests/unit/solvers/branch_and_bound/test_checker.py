"""The checker of proofs accepts what is proved and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery
from clapas.solvers.branch_and_bound import BranchAndBound, Proof, checker, search, verify
from clapas.solvers.branch_and_bound.checker import ANYTHING, CIRCLE, Branch, Domain, Leaf
from clapas.solvers.branch_and_bound.modes import (
    BACKWARD,
    CLOSED,
    FORWARD,
    NOT_BACKWARD,
    NOT_FORWARD,
    OPEN,
    QUADRANTS,
    STICK,
)

ROD = gallery.get("painleve-down-none").problem
SUMS = gallery.get("subset-sum-none").problem


@pytest.fixture(scope="module")
def proof() -> Proof:
    outcome = search(SUMS, BranchAndBound(heuristics=(), restarts=0))
    assert outcome.proof is not None
    return outcome.proof


def test_accepts_a_proof(proof: Proof) -> None:
    verification = verify(SUMS, proof)
    assert verification.accepted
    assert verification.radius > 1e6


def test_refuses_what_excludes_small_impulses_only() -> None:
    # A particle that falls on the floor: r = (1, 0). The certificate y = (1, 0) excludes Σ r_N < 1, no more.
    proof = Proof(np.eye(2), np.array([[-1.0, 0.0]]), np.zeros(1), (Leaf(0),), (np.array([[1.0, 0.0]]),))
    assert checker.closing_radius(proof, proof.certificates[0], (ANYTHING,)) == pytest.approx(1.0)
    assert not checker.check(proof).accepted
    unfinished = replace(proof, nodes=(Branch(0, (OPEN,), (1,)), Leaf(0)))
    assert "leaves something out" in checker.check(unfinished).complaint


def test_refuses_another_problem(proof: Proof) -> None:
    assert not verify(gallery.get("subset-sum-both").problem, proof).accepted
    assert not verify(ROD, proof).accepted


def test_refuses_every_changed_certificate(proof: Proof) -> None:
    for number, y in enumerate(proof.certificates):
        for changed in (-y, np.zeros_like(y), y + 0.1, np.full_like(y, np.nan), y[:-1]):
            certificates = list(proof.certificates)
            certificates[number] = changed
            verdict = checker.check(replace(proof, certificates=tuple(certificates)))
            assert not verdict.accepted
            assert "does not close it" in verdict.complaint


def test_refuses_trees_with_holes(proof: Proof) -> None:
    root = proof.nodes[0]
    assert isinstance(root, Branch)
    less = Branch(root.contact, root.parts[:1], root.children[:1])
    verdict = checker.check(replace(proof, nodes=(less, *proof.nodes[1:])))
    assert "leaves something out" in verdict.complaint
    loop = Branch(root.contact, root.parts, (0,) * len(root.children))
    assert "used twice" in checker.check(replace(proof, nodes=(loop, *proof.nodes[1:]))).complaint
    away = Branch(root.contact, root.parts, (10**6,) * len(root.children))
    assert "missing" in checker.check(replace(proof, nodes=(away, *proof.nodes[1:]))).complaint
    assert "node 0 is missing" in checker.check(replace(proof, nodes=())).complaint
    assert "has no certificate" in checker.check(replace(proof, certificates=())).complaint
    assert "square" in checker.check(replace(proof, W=proof.W[:, 1:])).complaint


def test_refuses_to_close_what_holds_a_solution(proof: Proof) -> None:
    """Give each leaf the certificate of another: those that exclude too much must be refused."""
    count = len(proof.certificates)
    for shift in (1, 2, 5):
        nodes = tuple(
            Leaf((node.certificate + shift) % count) if isinstance(node, Leaf) else node
            for node in proof.nodes
        )
        assert not checker.check(replace(proof, nodes=nodes)).accepted


@pytest.mark.parametrize(
    ("whole", "parts", "d", "covered"),
    [
        (ANYTHING, (OPEN, CLOSED), 2, True),
        (ANYTHING, (OPEN, STICK, FORWARD), 2, False),
        (ANYTHING, (OPEN, STICK, FORWARD, BACKWARD), 2, True),
        (ANYTHING, (CLOSED,), 2, False),
        (CLOSED, (FORWARD, NOT_FORWARD), 2, True),
        (CLOSED, (FORWARD, NOT_BACKWARD), 2, False),
        (NOT_FORWARD, (BACKWARD,), 2, False),
        (CLOSED, (STICK, *QUADRANTS), 3, True),
        (CLOSED, (STICK, *QUADRANTS[:3]), 3, False),
        (CLOSED, QUADRANTS, 3, False),
        (QUADRANTS[0], (Domain(False, False, (0.0, 0.7)), Domain(False, False, (0.7, 2.0))), 3, True),
        (QUADRANTS[0], (Domain(False, False, (0.0, 0.7)), Domain(False, False, (0.71, 2.0))), 3, False),
        (STICK, (STICK,), 3, True),
    ],
)
def test_coverage(whole: Domain, parts: tuple[Domain, ...], d: int, covered: bool) -> None:
    assert checker.covers(whole, parts, d) is covered


@pytest.mark.parametrize("seed", range(20))
def test_cones_of_a_domain_against_sampling(seed: int) -> None:
    random = np.random.default_rng(seed)
    mu, c = float(random.uniform(0.1, 3.0)), random.standard_normal(3)
    low = float(random.uniform(0.0, 5.0))
    arc = (low, min(low + float(random.uniform(0.1, 1.5)), 2.0 * math.pi))
    angles = np.linspace(*arc, 20001)
    t = np.column_stack((np.cos(angles), np.sin(angles)))
    slides = Domain(False, False, arc)
    assert checker.highest(c, mu, slides) == pytest.approx(float(np.max(c[0] - mu * t @ c[1:])), abs=1e-6)
    sampled = bool((t @ c[1:] >= 0.0).all())
    assert checker.in_dual(c, slides, rough=True) is sampled
    everything = np.linspace(*CIRCLE, 20001)
    edge = np.column_stack((np.cos(everything), np.sin(everything)))
    assert checker.highest(c, mu, STICK) == pytest.approx(float(np.max(c[0] - mu * edge @ c[1:])), abs=1e-6)


def test_definite_problems_have_solutions_and_no_proof() -> None:
    problem = ContactProblem(W=np.diag([1.0, 2.0, 3.0, 1.0]), q=[[-1.0, 0.4], [-0.1, 5.0]], mu=[0.3, 2.0])
    outcome = search(problem, BranchAndBound(heuristics=(), restarts=0))
    assert outcome.solution.status.is_solved
    assert outcome.proof is None
