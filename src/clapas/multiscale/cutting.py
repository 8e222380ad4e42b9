"""A problem cut into substructures: interfaces, search directions, macro bases, and data exchange."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError, SettingsError
from clapas.multiscale.directions import face_stiffness
from clapas.multiscale.interfaces import Interface, Interfaces, find_interfaces
from clapas.multiscale.macro_basis import affine_fields, orthonormal, translations
from clapas.multiscale.partition import compact
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructure import Substructure, Trace
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.multiscale.latin import MicroMacroLATIN

SAMPLE = 24  # smallest number of interfaces on which the stiffness between faces is computed


class Cut:
    """The substructures of a problem, and the index maps between interfaces and substructures.

    Parameters
    ----------
    settings : MicroMacroLATIN
        Directions, macro basis and treatment of weak interfaces.
    problem : LinkProblem
        The whole.
    labels : array (links,)
        Substructure of each link.

    Attributes
    ----------
    parts : list of Substructure
        Factorised.
    free_of : list of index arrays
        Global numbers of the free components of each substructure.
    places : list of index arrays
        Macro components of each.
    across : list of lists of (int, int)
        Neighbour, and number of its trace, of each trace.
    sender : index array
        Index, among all entries sent (by substructure), of each entry received.
    received : list of slices
        Entries received by each substructure.
    share : array (dofs,)
        1 / number of substructures that have a component.
    """

    def __init__(self, settings: MicroMacroLATIN, problem: LinkProblem, labels: npt.ArrayLike) -> None:
        label = np.asarray(labels)
        if label.shape != (problem.n_links,):
            raise ProblemError(f"labels must have one entry per link, {problem.n_links}, got {label.shape}")
        self.settings, self.problem, self.labels = settings, problem, compact(label)
        self.n_parts = int(self.labels.max(initial=0)) + 1
        self.links_of = [np.flatnonzero(self.labels == i) for i in range(self.n_parts)]
        self.interfaces: Interfaces = find_interfaces(
            problem, self.labels, settings.weak, macro=bool(settings.macro)
        )
        self.share = 1.0 / np.maximum(np.repeat(self.interfaces.sharing, problem.dofs_per_node), 1)
        self.directions = self._directions()
        self.parts = self._make_parts()
        self._make_exchange()

    def _directions(self) -> list[Array]:
        """D of the components of each interface.

        By the rule of faces one number for all, the median over some strong interfaces of the larger of both
        sides: ragged interfaces of graph partitions have no face opposite to them, and single values scatter.
        """
        problem, kept, direction = self.problem, self.interfaces.kept, self.settings.direction
        sizes = [len(each.nodes) * problem.dofs_per_node for each in kept]
        if not isinstance(direction, str):
            numbers = np.asarray(direction, dtype=np.float64)
            if numbers.ndim and numbers.shape != problem.F.shape:
                raise SettingsError(
                    f"direction must have one entry per component, {problem.F.shape}, got {numbers.shape}"
                )
            by_component = np.broadcast_to(numbers, problem.F.shape)
            return [by_component[problem.dofs(each.nodes)] for each in kept]

        strong = [each for each in kept if each.is_strong] or list(kept)
        sample = strong[:: max(1, len(strong) // SAMPLE)]
        values = [
            max(face_stiffness(problem, self.links_of[side], each.nodes) for side in (each.a, each.b))
            for each in sample
        ]
        return [np.full(size, float(np.median(values))) for size in sizes]

    def _basis(self, interface: Interface, scale: Array, is_free: Mask) -> Array:
        """Macro basis of an interface on its free components."""
        problem = self.problem
        if not interface.has_macro:
            return np.zeros((int(is_free.sum()), 0))
        if problem.points is None:
            fields = translations(len(interface.nodes), problem.dofs_per_node)
        else:
            fields = affine_fields(problem.points[interface.nodes], problem.dofs_per_node)
        if problem.units is not None:
            by_node = fields.reshape(len(interface.nodes), problem.dofs_per_node, -1)
            fields = (problem.units[interface.nodes] @ by_node).reshape(len(fields), -1)
        if not isinstance(self.settings.macro, bool):
            fields = fields[:, : self.settings.macro]
        return orthonormal(fields, is_free, scale[is_free])

    def _make_parts(self) -> list[Substructure]:
        problem = self.problem
        is_free = ~problem.is_blocked
        traces: list[list[Trace]] = [[] for _ in range(self.n_parts)]
        places: list[list[Indices]] = [[] for _ in range(self.n_parts)]
        sides: list[list[tuple[int, int]]] = [[] for _ in range(self.n_parts)]
        number = np.full(len(is_free), -1)
        self.free_of = [
            problem.dofs(nodes)[is_free[problem.dofs(nodes)]] for nodes in self.interfaces.nodes_of
        ]
        size = 0
        for j, (each, d) in enumerate(zip(self.interfaces.kept, self.directions, strict=True)):
            dofs = problem.dofs(each.nodes)
            kept = is_free[dofs]
            scale = np.sqrt(d)
            basis = self._basis(each, scale, kept)
            macro = np.arange(size, size + basis.shape[1])
            size += basis.shape[1]
            for side, sign in ((each.a, 1.0), (each.b, -1.0)):
                number[self.free_of[side]] = np.arange(len(self.free_of[side]))
                traces[side].append(Trace(j, sign, number[dofs[kept]], scale[kept], basis))
                places[side].append(macro)
            sides[each.a].append((each.b, len(traces[each.b]) - 1))
            sides[each.b].append((each.a, len(traces[each.a]) - 1))
        self.across, self.n_macro = sides, size
        empty = np.zeros(0, dtype=np.int64)
        self.places = [np.concatenate(each) if each else empty for each in places]
        l = self.settings.link_direction * problem.law.stiffness()
        parts = []
        for i, (links, dofs) in enumerate(zip(self.links_of, self.free_of, strict=True)):
            rows = problem.rows(links)
            mass = None
            if problem.M is not None:
                mass = problem.M[dofs][:, dofs] * self.share[dofs][:, None]
            parts.append(
                Substructure(
                    f"substructure {i}",
                    problem.B[rows][:, dofs].tocsr(),
                    problem.law.restrict(links),
                    l[rows],
                    problem.F[dofs] * self.share[dofs],
                    None if mass is None else mass.tocsr(),
                    traces[i],
                )
            )
        return parts

    def _make_exchange(self) -> None:
        """Index maps of the vectors exchanged between substructures."""
        ends = np.cumsum([0] + [len(part.dofs) for part in self.parts])
        self.received = [slice(a, b) for a, b in pairwise(ends)]
        senders = [
            ends[other] + np.arange(len(self.parts[other].dofs))[self.parts[other].parts[place]]
            for across in self.across
            for other, place in across
        ]
        self.sender = np.concatenate([np.zeros(0, dtype=np.int64), *senders])
