"""What the probes of a model read after a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.dynamics.model import Model, State
from clapas.dynamics.probes import Probe
from clapas.dynamics.stepping import Stepped
from clapas.geometry import rotations
from clapas.typing import Array, Mask


class Reading(NamedTuple):
    """Time (s) and the values of all probes, one after another."""

    time: float
    values: Array


def read(model: Model, stepped: Stepped | None, state: State) -> Reading:
    """Read the probes of a model in a state and on the contacts of the step that led to it, if any.

    Forces are impulses divided by the length of the step. Moments are about the centre of mass where
    contacts were found. The smallest gap of no contact is NaN.
    """
    values = [np.atleast_1d(_value(probe, model, stepped, state)) for probe in model.probes]
    return Reading(state.time, np.concatenate(values) if values else np.empty(0))


def _value(probe: Probe, model: Model, stepped: Stepped | None, state: State) -> Array | float:
    d, body = model.d, probe.body
    velocity = state.velocity[body]
    match probe.quantity:
        case "position":
            return np.asarray(state.position[body])
        case "orientation":
            return np.asarray(state.orientation[body])
        case "velocity":
            return np.asarray(velocity[:d])
        case "angular_velocity":
            return velocity[d:] if d == 2 else rotations.rotate(state.orientation[body], velocity[d:])
        case "kinetic_energy":
            return 0.5 * float(model.masses[body] @ velocity**2) if model.movable[body] else 0.0
    return _of_contacts(probe, model, stepped)


def _of_contacts(probe: Probe, model: Model, stepped: Stepped | None) -> Array | float:
    """The quantities of contacts, and the force and the torque they make."""
    d = model.d
    if stepped is None:
        nothing = {"force": d, "contact_force": d, "torque": 3 if d == 3 else 1}
        if probe.quantity in nothing:
            return np.zeros(nothing[probe.quantity])
        return np.nan if probe.quantity == "gap" else 0.0
    contacts, rows = stepped.contacts, _rows(probe, stepped)
    # Impulses are given on b.
    sign = np.where(contacts.b[rows] == probe.body, 1.0, -1.0)[:, None]
    force = sign * stepped.state.impulses.impulse[rows] / stepped.state.dt
    normal = np.sum(force * sign * contacts.normal[rows], axis=1)
    match probe.quantity:
        case "contacts":
            return float(rows.sum())
        case "gap":
            return float(contacts.gap[rows].min()) if rows.any() else np.nan
        case "normal_force":
            return float(normal.sum())
        case "tangential_force":
            across = force - normal[:, None] * sign * contacts.normal[rows]
            return float(np.linalg.norm(across, axis=1).sum())
        case "torque":
            couple = sign * stepped.state.impulses.couple[rows] / stepped.state.dt
            return np.asarray((_moments(_arms(probe.body, stepped, rows), force) + couple).sum(axis=0))
    return np.asarray(force.sum(axis=0))


def _rows(probe: Probe, stepped: Stepped) -> Mask:
    """The contacts a probe looks at."""
    a, b = stepped.contacts.a, stepped.contacts.b
    rows = (a == probe.body) | (b == probe.body)
    if probe.other is not None:
        rows &= (a == probe.other) | (b == probe.other)
    return np.asarray(rows)


def _arms(body: int, stepped: Stepped, rows: Mask) -> Array:
    contacts = stepped.contacts
    shift = np.where((contacts.b[rows] == body)[:, None], contacts.shift[rows], 0.0)
    return np.asarray(contacts.point[rows] - shift - stepped.middle.position[body])


def _moments(arms: Array, force: Array) -> Array:
    if arms.shape[1] == 3:
        return np.cross(arms, force)
    return (arms[:, 0] * force[:, 1] - arms[:, 1] * force[:, 0])[:, None]
