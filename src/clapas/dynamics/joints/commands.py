"""Commands: targets of motors, changed between steps without a new model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clapas.errors import SettingsError
from clapas.geometry.checks import did_you_mean
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.dynamics.joints.drives import Drives
    from clapas.dynamics.model import Model


@dataclass(frozen=True)
class Commands:
    """Targets of motors, passed to a step; :meth:`of` has those of the scene.

    Parameters
    ----------
    names : tuple of str
        Names of the joints that have a motor.
    target : array (n,)
        A rate for a velocity motor (rad/s, m/s), a torque for a torque motor (N·m, N), a coordinate for a
        servo (rad, m).
    """

    names: tuple[str, ...]
    target: Array

    @staticmethod
    def of(model: Model) -> Commands:
        """The targets of the motors of a model that the scene sets."""
        if model.joints is None:
            return Commands((), np.empty(0))
        drives = model.joints.drives
        return Commands(tuple(drives.names[k] for k in drives.motors), drives.target[drives.motors])

    def updated(self, targets: Mapping[str, float]) -> Commands:
        """The commands with other targets for some joints, by name."""
        target = self.target.copy()
        for name, value in targets.items():
            if name not in self.names:
                known = ", ".join(self.names) or "none"
                raise SettingsError(
                    f"commands: joint '{name}' has no motor{did_you_mean(name, self.names)}; "
                    f"those that have one: {known}"
                )
            target[self.names.index(name)] = value
        return replace(self, target=target)

    def on(self, default: Array, motors: Indices) -> Array:
        """Targets (k,) of all coordinates, those with motors at the places ``motors``."""
        values = np.asarray(self.target, dtype=float)
        if values.shape != motors.shape:
            raise SettingsError(f"commands: {len(motors)} motors need as many targets, got {values.shape}")
        if not np.isfinite(values).all():
            raise SettingsError(f"commands: targets must be finite, got {values.tolist()}")
        target = default.copy()
        target[motors] = values
        return target


def targets_of(drives: Drives, commands: Commands | None) -> Array:
    """Targets (k,) of all coordinates in a step, torques cut at what their motors can apply."""
    target = drives.target if commands is None else commands.on(drives.target, drives.motors)
    if not len(drives.cut):
        return target
    target = target.copy()
    target[drives.cut] = np.clip(target[drives.cut], drives.least[drives.cut], drives.bound[drives.cut])
    return target
