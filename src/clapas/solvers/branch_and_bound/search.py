"""The search tree: each node is closed by a certificate, solved, or split."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from clapas.linalg import exact
from clapas.problems import coulomb
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.branch_and_bound.checker import ANYTHING, EPSILON, Branch, Domain, Leaf, Proof
from clapas.solvers.branch_and_bound.modes import contains, mode, split
from clapas.solvers.branch_and_bound.pool import Pool
from clapas.solvers.branch_and_bound.relaxation import Point, Relaxation
from clapas.typing import Array

TRIED = {2: 8, 3: 4}  # candidate contacts whose parts are evaluated before one is split
FORMED = 32.0  # roundings in an entry of W when it is computed from M and H
OBEYED = 1e-10  # distance from the law below which a contact needs no decision

Domains = tuple[Domain, ...]
Parts = list[tuple[Domain, Point | int]]  # parts of a domain, with the result of each


def without_units(problem: ContactProblem) -> tuple[Proof, Array]:
    """Dimensionless data of a problem as an empty proof, and its units of impulse (n, 1).

    Velocities and impulses of contact i are divided by |q| √λ_i and |q| / √λ_i, with λ_i its response and |q|
    the free velocity so scaled: a symmetric W stays symmetric, its mean diagonal becomes about 1, and the law
    stays the same. The factors are powers of two, so that the scaling is exact: what is proved for
    the scaled data is proved for the given ones.
    """
    reduced = reduce(problem)
    scale = exact.nearest_power_of_two(1.0 / np.sqrt(reduced.response))
    flat = np.repeat(scale, reduced.d)
    W = flat[:, None] * reduced.W.toarray() * flat
    q = scale[:, None] * reduced.q
    largest = float(np.abs(q).max(initial=0.0))
    speed = float(exact.nearest_power_of_two(largest * np.linalg.norm(q / largest))) if largest else 1.0
    spread = FORMED * EPSILON if problem.form == "global" else 0.0
    return Proof(W, q / speed, reduced.mu, (), (), spread), speed * scale[:, None]


class Search:
    """A running search; :meth:`step` processes one open node, depth first.

    Parameters
    ----------
    problem : ContactProblem
        The problem.
    guess : array (n, d)
        Impulses, perhaps near a solution: nodes with their modes come first.
    narrowest : float
        Width (rad) below which arcs of sliding directions are not cut, in space.
    all_modes : bool
        Continue past solutions until every contact has one mode: the remaining choices are in ``survivors``.
    deadline : float
        Time, by ``time.perf_counter``, after which :class:`Halt` is raised with TIME_LIMIT, within a node
        too.
    domains : tuple of Domain, optional
        Domains of the contacts at the root; all modes by default. The tree
        then covers these only, and its ``proof`` is not one for the problem.
    """

    def __init__(
        self,
        problem: ContactProblem,
        guess: Array,
        narrowest: float,
        all_modes: bool = False,
        deadline: float = math.inf,
        domains: Domains | None = None,
    ) -> None:
        self.problem, self.narrowest, self.all_modes = problem, narrowest, all_modes
        self.data, self.unit = without_units(problem)
        self.n = problem.n_contacts
        self.point, self.violation = guess, math.inf
        self.hints = self._modes(guess / self.unit)
        self.pool, self.relaxation = Pool(self.data), Relaxation(self.data, deadline)
        self.certificates: list[Array] = []
        self.nodes: list[Leaf | Branch | None] = [None]
        self.stack: list[tuple[int, Domains, Point]] = []
        self.survivors: list[Domains] = []
        everything = domains or (ANYTHING,) * self.n
        self._place(0, everything, self._evaluate(everything))

    @property
    def is_over(self) -> bool:
        """Whether every node was processed."""
        return not self.stack

    @property
    def proof(self) -> Proof | None:
        """The proof that there is no solution, once every node was closed, with the certificates it needs."""
        nodes = [node for node in self.nodes if node is not None]
        if self.stack or len(nodes) < len(self.nodes):
            return None
        used = sorted({node.certificate for node in nodes if isinstance(node, Leaf)})
        place = {number: k for k, number in enumerate(used)}
        numbered = tuple(Leaf(place[node.certificate]) if isinstance(node, Leaf) else node for node in nodes)
        certificates = tuple(self.certificates[number] for number in used)
        return replace(self.data, nodes=numbered, certificates=certificates)

    def step(self) -> None:
        """Process an open node: ``point`` is that of its relaxation, ``violation`` of the law (no unit)."""
        place, domains, relaxed = self.stack.pop()
        by_contact = self._distances(relaxed)
        self.point, self.violation = relaxed.r * self.unit, float(np.linalg.norm(by_contact))
        choice = self._choose(domains, relaxed, by_contact)
        if choice is not None:
            self._split(place, domains, *choice)
        elif self._refine(domains, relaxed):
            self._place(place, domains, self._evaluate(domains))
        else:
            self.survivors.append(domains)

    def _place(self, place: int, domains: Domains, result: Point | int) -> None:
        """Close a node, or keep it open."""
        if isinstance(result, Point):
            self.stack.append((place, domains, result))
        else:
            self.nodes[place] = Leaf(result)

    def _evaluate(self, domains: Domains) -> Point | int:
        """A point of the relaxation of some domains, or the number of a certificate that excludes them."""
        known = self.pool.find(domains)
        if known is not None:
            return known
        relaxed, y = self.relaxation.solve(domains)
        if y is None:
            return relaxed
        number = self.pool.add(y)
        if self.pool.find(domains, newest=1) is None:  # invalid because of rounding
            self.pool.drop_last()
            return relaxed
        self.certificates.append(y)
        return number

    def _distances(self, relaxed: Point) -> Array:
        """Distance of each contact from the law at a point of the relaxation."""
        ones = np.ones(self.n)
        violation = coulomb.natural_map(relaxed.u, relaxed.r, self.data.mu, ones)
        return np.asarray(np.linalg.norm(violation, axis=1))

    def _choose(self, domains: Domains, relaxed: Point, violation: Array) -> tuple[int, Parts] | None:
        """The contact to split, among those farthest from the law, with the fewest open parts."""
        best: tuple[int, Parts] | None = None
        fewest, tried = math.inf, 0
        for i in np.argsort(-violation, kind="stable"):
            if tried == TRIED[self.problem.d] or (violation[i] <= OBEYED and not self.all_modes):
                break
            parts = split(domains[i], relaxed.u[i], float(self.data.mu[i]), self.narrowest)
            if not parts:
                continue
            tried += 1
            results = [(part, self._evaluate(_with(domains, i, part))) for part in parts]
            n_open = sum(isinstance(result, Point) for _, result in results)
            if n_open <= 1:
                return int(i), results
            if n_open / len(parts) < fewest:
                fewest, best = n_open / len(parts), (int(i), results)
        return best

    def _refine(self, domains: Domains, relaxed: Point) -> bool:
        """Where all modes are decided, cut off impulses outside K; False if there are none."""
        excess = np.linalg.norm(relaxed.r[:, 1:], axis=1) - self.data.mu * relaxed.r[:, 0]
        outside = [i for i in range(self.n) if excess[i] > OBEYED and domains[i].sticks]
        refined = [self.relaxation.refine(i, relaxed.r[i]) for i in outside]
        return any(refined)

    def _split(self, place: int, domains: Domains, contact: int, parts: Parts) -> None:
        hint = self.hints[contact]
        parts = sorted(parts, key=lambda part: contains(part[0], hint))  # the last is processed first
        children = tuple(range(len(self.nodes), len(self.nodes) + len(parts)))
        self.nodes += [None] * len(parts)
        self.nodes[place] = Branch(contact, tuple(part for part, _ in parts), children)
        for child, (part, result) in zip(children, parts, strict=True):
            self._place(child, _with(domains, contact, part), result)

    def _modes(self, x: Array) -> list[Domain]:
        u = (self.data.W @ x.ravel()).reshape(x.shape) + self.data.q
        return [mode(x[i], u[i], float(self.data.mu[i])) for i in range(self.n)]

    @property
    def gap(self) -> float:
        """Fraction of the tree that is still open: Σ over open nodes of their fractions of their parents.

        Zero when all is closed; a measure of the remaining work, in which all parts of a node count equally.
        """
        share = {0: 1.0}
        for place, node in enumerate(self.nodes):
            if isinstance(node, Branch):
                for child in node.children:
                    share[child] = share[place] / len(node.children)
        return math.fsum(share[place] for place, node in enumerate(self.nodes) if node is None)


def _with(domains: Domains, i: int, part: Domain) -> Domains:
    """The same domains except at contact i."""
    return (*domains[:i], part, *domains[i + 1 :])
