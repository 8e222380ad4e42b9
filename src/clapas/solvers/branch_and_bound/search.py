"""The search: a tree of domains, each node closed by a certificate, solved, or split."""

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

TRIED = {2: 8, 3: 4}  # contacts whose parts are looked at before one of them is split
FORMED = 32.0  # roundings in an entry of W when it is computed from M and H
OBEYED = 1e-10  # distance from the law below which a contact needs no decision

Domains = tuple[Domain, ...]
Parts = list[tuple[Domain, Point | int]]  # parts of a domain, with what was seen in them


def without_units(problem: ContactProblem) -> tuple[Proof, Array]:
    """Data of a problem as an empty proof, and the impulses (n, 1) that are its units.

    Velocities and impulses of contact i are divided by |q| √λ_i and |q| / √λ_i, with λ_i its response and |q|
    the free velocity so scaled: a symmetric W stays symmetric, its mean diagonal becomes about 1, and the law
    stays the same. The factors are powers of two, so that not a digit of the data is lost: what is proved of
    the scaled data is proved of the given ones.
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
    """A search under way; :meth:`step` treats one open node, the last one found first.

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
    deadline : float
        When to raise :class:`Halt` with TIME_LIMIT, by ``time.perf_counter``; within a node too.
    domains : tuple of Domain, optional
        What the contacts may do at the root, where more is known than that they may do anything. The tree
        then speaks of these only, and its ``proof`` is none of the problem.
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
        self.point, self.missed = guess, math.inf
        self.hints = self._modes(guess / self.unit)
        self.pool, self.relaxation = Pool(self.data), Relaxation(self.data, deadline)
        self.certificates: list[Array] = []
        self.nodes: list[Leaf | Branch | None] = [None]
        self.stack: list[tuple[int, Domains, Point]] = []
        self.survivors: list[Domains] = []
        everything = domains or (ANYTHING,) * self.n
        self._place(0, everything, self._look(everything))

    @property
    def is_over(self) -> bool:
        """Every node was treated."""
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
        """Treat an open node: ``point`` is that of its relaxation, ``missed`` by the law (no unit)."""
        place, domains, relaxed = self.stack.pop()
        by_contact = self._distances(relaxed)
        self.point, self.missed = relaxed.r * self.unit, float(np.linalg.norm(by_contact))
        choice = self._choose(domains, relaxed, by_contact)
        if choice is not None:
            self._split(place, domains, *choice)
        elif self._refine(domains, relaxed):
            self._place(place, domains, self._look(domains))
        else:
            self.survivors.append(domains)

    def _place(self, place: int, domains: Domains, seen: Point | int) -> None:
        """Close a node, or keep it open."""
        if isinstance(seen, Point):
            self.stack.append((place, domains, seen))
        else:
            self.nodes[place] = Leaf(seen)

    def _look(self, domains: Domains) -> Point | int:
        """A point of the relaxation of some domains, or the number of a certificate that excludes them."""
        known = self.pool.find(domains)
        if known is not None:
            return known
        relaxed, y = self.relaxation.solve(domains)
        if y is None:
            return relaxed
        number = self.pool.add(y)
        if self.pool.find(domains, newest=1) is None:  # rounding spoilt it
            self.pool.drop_last()
            return relaxed
        self.certificates.append(y)
        return number

    def _distances(self, relaxed: Point) -> Array:
        """How far each contact is from the law at a point of the relaxation."""
        ones = np.ones(self.n)
        missed = coulomb.natural_map(relaxed.u, relaxed.r, self.data.mu, ones)
        return np.asarray(np.linalg.norm(missed, axis=1))

    def _choose(self, domains: Domains, relaxed: Point, missed: Array) -> tuple[int, Parts] | None:
        """The contact to split, among those farthest from the law, of whose parts the fewest stay open."""
        best: tuple[int, Parts] | None = None
        fewest, tried = math.inf, 0
        for i in np.argsort(-missed, kind="stable"):
            if tried == TRIED[self.problem.d] or (missed[i] <= OBEYED and not self.all_modes):
                break
            parts = split(domains[i], relaxed.u[i], float(self.data.mu[i]), self.narrowest)
            if not parts:
                continue
            tried += 1
            seen = [(part, self._look(_with(domains, i, part))) for part in parts]
            left = sum(isinstance(outlook, Point) for _, outlook in seen)
            if left <= 1:
                return int(i), seen
            if left / len(parts) < fewest:
                fewest, best = left / len(parts), (int(i), seen)
        return best

    def _refine(self, domains: Domains, relaxed: Point) -> bool:
        """Where all is decided, cut off impulses outside K; False if there are none."""
        lean = np.linalg.norm(relaxed.r[:, 1:], axis=1) - self.data.mu * relaxed.r[:, 0]
        outside = [i for i in range(self.n) if lean[i] > OBEYED and domains[i].sticks]
        refined = [self.relaxation.refine(i, relaxed.r[i]) for i in outside]
        return any(refined)

    def _split(self, place: int, domains: Domains, contact: int, seen: Parts) -> None:
        hint = self.hints[contact]
        seen = sorted(seen, key=lambda part: contains(part[0], hint))  # the last is treated first
        children = tuple(range(len(self.nodes), len(self.nodes) + len(seen)))
        self.nodes += [None] * len(seen)
        self.nodes[place] = Branch(contact, tuple(part for part, _ in seen), children)
        for child, (part, outlook) in zip(children, seen, strict=True):
            self._place(child, _with(domains, contact, part), outlook)

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


def _with(domains: Domains, i: int, part: Domain) -> Domains:
    """The same domains but for contact i."""
    return (*domains[:i], part, *domains[i + 1 :])
