"""Reactions: forces and torques of joints on the bodies they join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.dynamics.joints.rows import JointRows, Placed
from clapas.errors import unknown_name
from clapas.geometry.rotations import rotate
from clapas.typing import Array


class Reaction(NamedTuple):
    """Mean force and torque of a joint on its body a during a step; b, or the world, gets the opposite.

    Parameters
    ----------
    force : array (d,)
        Mean force (N), in the world.
    torque : array (3,), or (1,) in 2-D
        Mean torque about the point of the joint on a (N·m), in the world.
    """

    force: Array
    torque: Array


@dataclass(frozen=True, eq=False)
class Reactions(Mapping[str, Reaction]):
    """Reactions of all joints by their names, motors included.

    Where joints are redundant the distribution of load is not unique: these are the smallest multipliers.

    Parameters
    ----------
    rows : JointRows
        The rows of the joints.
    placed : Placed
        The middle of the step.
    impulse : array (t,)
        Impulses along the terms.
    dt : float
        Length of the step (s).
    """

    rows: JointRows
    placed: Placed
    impulse: Array
    dt: float

    def __getitem__(self, name: str) -> Reaction:
        if name not in self.rows.names:
            raise unknown_name("joint", name, self.rows.names)
        k = self.rows.names.index(name)
        return Reaction(self.force[k], self.torque[k])

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows.names)

    def __len__(self) -> int:
        return len(self.rows.joints)

    @cached_property
    def along(self) -> Array:
        """Mean forces (N) or torques (N·m) along the coordinates of the joints, (k,), zero without one.

        Limits, friction, springs, dampers, motors and mimics together; positive where they help the
        coordinate grow.
        """
        along = np.zeros(len(self))
        along[self.rows.moving] = self.impulse[self.rows.n_closing :] / self.dt
        return along

    @cached_property
    def force(self) -> Array:
        """Mean forces on the bodies a, (k, d) (N)."""
        d = self.rows.d
        return self._per_joint(self.placed.of_a[:, :d] * self.impulse[:, None]) / self.dt

    @cached_property
    def torque(self) -> Array:
        """Mean torques on the bodies a about the points of the joints, (k, 3), or (k, 1) (N·m)."""
        d = self.rows.d
        push, arm = self.placed.of_a * self.impulse[:, None], self.placed.arm_a
        if d == 2:
            about = push[:, 2] - (arm[:, 0] * push[:, 1] - arm[:, 1] * push[:, 0])
            return self._per_joint(about[:, None]) / self.dt
        about = rotate(self.placed.turn[self.rows.a], push[:, 3:]) - np.cross(arm, push[:, :3])
        return self._per_joint(about) / self.dt

    def _per_joint(self, values: Array) -> Array:
        total = np.zeros((len(self), values.shape[1]))
        np.add.at(total, self.rows.joint, values)
        return total
