"""The contacts of a step for controllers and users: points, normals, forces, sliding or sticking."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.dynamics.model import Model
from clapas.dynamics.names import Names
from clapas.dynamics.stepping import StepResult
from clapas.problems.report import modes
from clapas.typing import Array, Indices, Mask

OPEN, STICKING, SLIDING = range(3)
MODES = ("open", "sticking", "sliding")


class Contact(NamedTuple):
    """One contact of a step; see :class:`ContactTable`."""

    a: str
    b: str
    point: Array
    normal: Array
    gap: float
    impulse: Array
    force: Array
    mode: str


@dataclass(frozen=True, eq=False)
class ContactTable:
    """Contacts of a step that touch or carry an impulse, as arrays; one at a time by number or in a ``for``.

    Parameters
    ----------
    names : Names
        Names of all bodies.
    a, b : arrays (n,)
        Numbers of the two bodies.
    point : array (n, d)
        Where, in the middle of the step (m).
    normal : array (n, d)
        Unit, from a to b.
    gap : array (n,)
        Distance in the middle of the step (m): positive when apart.
    impulse : array (n, d)
        On b, in the world (N·s).
    slip : array (n,)
        Speed of b over a across the normal at the end of the step (m/s).
    mode : array (n,)
        0 open, 1 sticking, 2 sliding: as the judge of the problem decides, without a threshold of speed.
        Within the tolerance of the solver a contact at the edge of sticking may be called sliding: see
        ``slip``.
    dt : float
        Length of the step (s).
    """

    names: Names
    a: Indices
    b: Indices
    point: Array
    normal: Array
    gap: Array
    impulse: Array
    slip: Array
    mode: Indices
    dt: float

    @staticmethod
    def of(
        model: Model, result: StepResult | None, first: Indices | None, second: Indices | None
    ) -> ContactTable:
        """The contacts of a step between two sets of bodies, of one set, or all.

        A set holds one body, or the carriers of a system.
        """
        if result is None:
            index, vector = np.empty(0, dtype=np.int64), np.empty((0, model.d))
            number = vector[:, 0]
            empty = index, index, vector, vector, number, vector, number, index
            return ContactTable(model.names, *empty, 0.0)
        contacts = result.contacts
        rows = np.ones(len(contacts), dtype=bool)
        for bodies in (first, second):
            if bodies is not None:
                rows &= np.isin(contacts.a, bodies) | np.isin(contacts.b, bodies)
        kept = np.flatnonzero(rows)
        a, b = contacts.a[kept], contacts.b[kept]
        # Normals point from the first set to the second; with one set only, from the others to it.
        last = first if second is None else second
        turned = np.zeros(len(kept), dtype=bool) if last is None else ~np.isin(b, last)
        sign = np.where(turned, -1.0, 1.0)[:, None]
        return ContactTable(
            names=model.names,
            a=np.where(turned, b, a),
            b=np.where(turned, a, b),
            point=contacts.point[kept],
            normal=sign * contacts.normal[kept] + 0.0,
            gap=contacts.gap[kept],
            impulse=sign * result.state.impulses.impulse[kept] + 0.0,
            slip=_slips(result)[kept],
            mode=contact_modes(result)[kept],
            dt=result.state.dt,
        )

    def __len__(self) -> int:
        return len(self.gap)

    def __iter__(self) -> Iterator[Contact]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, number: int) -> Contact:
        """One contact, by its number; -1 is the last."""
        i = operator.index(number)
        return Contact(
            self.names[self.a[i]],
            self.names[self.b[i]],
            self.point[i],
            self.normal[i],
            float(self.gap[i]),
            self.impulse[i],
            self.force[i],
            MODES[self.mode[i]],
        )

    def __repr__(self) -> str:
        n = len(self)
        if n == 0:
            return "ContactTable(no contact)"
        counts = [f"{int(np.sum(self.mode == k))} {MODES[k]}" for k in range(3) if (self.mode == k).any()]
        total = float(np.linalg.norm(self.force.sum(axis=0)))
        return f"ContactTable({n} contact{'s' * (n > 1)}: {', '.join(counts)}; total force {total:.6g} N)"

    @cached_property
    def force(self) -> Array:
        """Mean forces on b during the step, in the world, (n, d) (N)."""
        return np.asarray(self.impulse / self.dt) if len(self) else self.impulse

    @cached_property
    def normal_force(self) -> Array:
        """Along the normals, (n,) (N): positive when the bodies push each other apart."""
        return np.asarray(np.sum(self.force * self.normal, axis=1))

    @cached_property
    def friction_force(self) -> Array:
        """Across the normals, on b, (n, d) (N)."""
        return np.asarray(self.force - self.normal_force[:, None] * self.normal)

    @property
    def sticking(self) -> Mask:
        """Contacts that carry and do not slide, (n,)."""
        return np.asarray(self.mode == STICKING)

    @property
    def sliding(self) -> Mask:
        """Contacts that slide, (n,)."""
        return np.asarray(self.mode == SLIDING)


def contact_modes(result: StepResult) -> Indices:
    """Whether each contact of a step is open (0), sticking (1) or sliding (2), (n,)."""
    known = getattr(result, "modes", None)
    if known is not None:  # a step gathered from several ranks, each of which computed its own modes
        return np.asarray(known)
    _, sticking, sliding = modes(*result.problem.sliding_part(result.solution.r))
    mode = (sticking + 2 * sliding).astype(np.int8)
    if result.rows is not None:  # contacts between sleeping bodies do not slide
        stuck = result.state.impulses.carrying
        mode = np.append(mode, 0).astype(np.int8)[result.rows]
        mode[result.rows < 0] = stuck[result.rows < 0]
    return np.asarray(mode)


def _slips(result: StepResult) -> Array:
    """Tangential speeds (n,) at the contacts of a step (m/s); zero between sleeping bodies."""
    d = result.contacts.normal.shape[1]
    # Unknowns and velocities at a contact are scaled inversely: their product is the work.
    across = (result.solution.u / result.problem.scale)[:, 1:d]
    speed = np.linalg.norm(across, axis=1)
    return np.asarray(speed if result.rows is None else np.append(speed, 0.0)[result.rows])
