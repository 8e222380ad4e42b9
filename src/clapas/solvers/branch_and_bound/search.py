"""The search: a tree of domains, each node closed by a certificate, solved, or split."""

from __future__ import annotations

import math

import numpy as np

from clapas.problems import coulomb
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.branch_and_bound.checker import ANYTHING, Branch, Domain, Leaf, Proof
from clapas.solvers.branch_and_bound.modes import contains, mode, split
from clapas.solvers.branch_and_bound.pool import Pool
from clapas.solvers.branch_and_bound.relaxation import Point, relax
from clapas.typing import Array

FORGETTING = 0.98  # per certificate, of the part that contacts had in earlier ones
OBEYED = 1e-10  # distance from the law below which a contact needs no decision

Domains = tuple[Domain, ...]


def without_units(problem: ContactProblem) -> tuple[Proof, Array]:
    """Data of a problem as an empty proof, and the impulses (n, 1) that are its units.

    Velocities and impulses of contact i are divided by |q| √λ_i and |q| / √λ_i, with λ_i its response and |q|
    the free velocity so scaled: W stays symmetric, its mean diagonal becomes 1, and the law stays the same.
    """
    reduced = reduce(problem)
    scale = 1.0 / np.sqrt(reduced.response)
    flat = np.repeat(scale, reduced.d)
    W = flat[:, None] * reduced.W.toarray() * flat
    q = scale[:, None] * reduced.q
    speed = float(np.linalg.norm(q)) or 1.0
    return Proof(0.5 * (W + W.T), q / speed, reduced.mu, (), ()), speed * scale[:, None]


class Search:
    """A search under way; :meth:`step` treats one node, the last one opened first.

    Parameters
    ----------
    problem : ContactProblem
        What to solve.
    guess : array (n, d)
        Impulses near a solution, perhaps: nodes whose modes are theirs come first.
    narrowest : float
        Width (rad) below which arcs of sliding directions are not cut, in space.
    all_modes : bool
        Go on past solutions until every contact has one mode: those left are in ``survivors``.
    """

    def __init__(
        self, problem: ContactProblem, guess: Array, narrowest: float, all_modes: bool = False
    ) -> None:
        self.problem, self.narrowest, self.all_modes = problem, narrowest, all_modes
        self.data, self.unit = without_units(problem)
        self.n = problem.n_contacts
        self.point, self.missed = guess, math.inf
        self.hints = self._modes(guess / self.unit)
        self.pool = Pool(self.data)
        self.conflicts = np.zeros(self.n)
        self.certificates: list[Array] = []
        self.nodes: list[Leaf | Branch | None] = [None]
        self.stack: list[tuple[int, Domains]] = [(0, (ANYTHING,) * self.n)]
        self.survivors: list[Domains] = []

    @property
    def is_over(self) -> bool:
        """Every node was treated."""
        return not self.stack

    @property
    def proof(self) -> Proof | None:
        """The proof that there is no solution, once every node was closed."""
        nodes = tuple(node for node in self.nodes if node is not None)
        if self.stack or len(nodes) < len(self.nodes):
            return None
        return Proof(self.data.W, self.data.q, self.data.mu, nodes, tuple(self.certificates))

    def step(self) -> bool:
        """Treat a node; True if it gave impulses to look at: ``point``, ``missed`` by the law (no unit)."""
        place, domains = self.stack.pop()
        known = self.pool.find(domains)
        if known is not None:
            self.nodes[place] = Leaf(known)
            return False
        relaxed = relax(self.data, domains)
        if not isinstance(relaxed, Point):
            self._close(place, relaxed)
            return False
        self.point = relaxed.r * self.unit
        by_contact = self._distances(relaxed)
        self.missed = float(np.linalg.norm(by_contact))
        self._split(place, domains, relaxed, by_contact)
        return True

    def _distances(self, relaxed: Point) -> Array:
        """How far each contact is from the law at a point of the relaxation."""
        ones = np.ones(self.n)
        missed = coulomb.natural_map(relaxed.u, relaxed.r, self.data.mu, ones)
        return np.asarray(np.linalg.norm(missed, axis=1))

    def _close(self, place: int, y: Array) -> None:
        self.nodes[place] = Leaf(len(self.certificates))
        self.certificates.append(y)
        self.pool.add(y)
        self.conflicts = FORGETTING * self.conflicts + (np.abs(y).max(axis=1) > 0.0)

    def _split(self, place: int, domains: Domains, relaxed: Point, missed: Array) -> None:
        """Cut the domain of the contact that is farthest from the law and was most in the way so far."""
        choice = self._choose(domains, relaxed, missed)
        if choice is None:
            self.survivors.append(domains)
            return
        contact, parts = choice
        hint = self.hints[contact]
        parts = tuple(sorted(parts, key=lambda part: contains(part, hint)))  # the last is treated first
        children = tuple(range(len(self.nodes), len(self.nodes) + len(parts)))
        self.nodes += [None] * len(parts)
        self.nodes[place] = Branch(contact, parts, children)
        for child, part in zip(children, parts, strict=True):
            self.stack.append((child, (*domains[:contact], part, *domains[contact + 1 :])))

    def _choose(
        self, domains: Domains, relaxed: Point, missed: Array
    ) -> tuple[int, tuple[Domain, ...]] | None:
        for i in np.argsort(-missed * (1.0 + self.conflicts), kind="stable"):
            if missed[i] <= OBEYED and not self.all_modes:
                continue
            parts = split(domains[i], relaxed.u[i], float(self.data.mu[i]), self.narrowest)
            if parts:
                return int(i), parts
        return None

    def _modes(self, x: Array) -> list[Domain]:
        u = (self.data.W @ x.ravel()).reshape(x.shape) + self.data.q
        return [mode(x[i], u[i], float(self.data.mu[i])) for i in range(self.n)]

    @property
    def gap(self) -> float:
        """Share of the tree that is still open: Σ over open nodes of the share each part has of its parent.

        Zero when all is closed; a measure of work left, in which every part counts the same.
        """
        share = {0: 1.0}
        for place, node in enumerate(self.nodes):
            if isinstance(node, Branch):
                for child in node.children:
                    share[child] = share[place] / len(node.children)
        return math.fsum(share[place] for place, node in enumerate(self.nodes) if node is None)
