"""Readings of the probes of a model after a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clapas.dynamics.joints.coordinates import joint_coordinates
from clapas.dynamics.model import Model
from clapas.dynamics.probes import Probe
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult
from clapas.geometry import rotations
from clapas.typing import Array, Mask


class Reading(NamedTuple):
    """Time (s) and the values of all probes, one after another."""

    time: float
    values: Array


def read(model: Model, parts: Sequence[StepResult], state: State) -> Reading:
    """Read the probes of a model in a state, and on the contacts of the step that led to it.

    ``parts`` are the parts of that step, one unless it was divided; none at the start. Forces are the
    impulses of all parts divided by the length of the whole step: their sum times dt is the momentum they
    gave. Moments are about the centre of mass in the middle of the step. Without contacts the smallest gap is
    NaN.
    """
    values = [np.atleast_1d(_value(probe, model, parts, state)) for probe in model.probes]
    return Reading(state.time, np.concatenate(values) if values else np.empty(0))


def _value(probe: Probe, model: Model, parts: Sequence[StepResult], state: State) -> Array | float:
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
        case "contacts":
            return float(len(set().union(*(_touching(probe, part) for part in parts))))
        case "gap":
            gaps = [part.contacts.gap[_rows(probe, part)] for part in parts]
            return float(np.min(np.concatenate(gaps), initial=np.inf)) if any(map(len, gaps)) else np.nan
    if probe.joint is not None:
        return _of_joint(probe, model, parts, state)
    duration = sum(part.state.dt for part in parts)
    sums = [_impulse(probe, part) for part in parts]
    if not sums:
        return np.zeros({"force": d, "contact_force": d, "torque": 3 if d == 3 else 1}.get(probe.quantity, 1))
    return np.asarray(sum(sums) / duration)


def _of_joint(probe: Probe, model: Model, parts: Sequence[StepResult], state: State) -> Array | float:
    """A quantity of a joint; forces and torques are means over the parts of the step, zero at the start."""
    assert probe.joint is not None
    if probe.quantity in ("joint_coordinate", "joint_rate"):
        coordinate = joint_coordinates(model, state)[probe.joint]
        return coordinate.value if probe.quantity == "joint_coordinate" else coordinate.rate
    total = np.zeros(len(probe.components(model.d)))
    for part in parts:
        assert part.joints is not None
        k = part.joints.rows.names.index(probe.joint)
        match probe.quantity:
            case "joint_effort":
                mean = part.joints.along[k]
            case "joint_force":
                mean = part.joints.force[k]
            case _:
                mean = part.joints.torque[k]
        total += part.state.dt * mean
    return total / sum(part.state.dt for part in parts) if parts else total


def _impulse(probe: Probe, part: StepResult) -> Array | float:
    """Impulse or moment of the contacts of a body in one part of a step (N·s, N·m·s)."""
    contacts, rows = part.contacts, _rows(probe, part)
    # Impulses act on b.
    sign = np.where(contacts.b[rows] == probe.body, 1.0, -1.0)[:, None]
    impulse = sign * part.state.impulses.impulse[rows]
    outward = sign * contacts.normal[rows]
    normal = np.sum(impulse * outward, axis=1)
    match probe.quantity:
        case "normal_force":
            return float(normal.sum())
        case "tangential_force":
            return float(np.linalg.norm(impulse - normal[:, None] * outward, axis=1).sum())
        case "torque":
            couple = sign * part.state.impulses.couple[rows]
            return np.asarray((_moments(_arms(probe.body, part, rows), impulse) + couple).sum(axis=0))
    return np.asarray(impulse.sum(axis=0))


def _touching(probe: Probe, part: StepResult) -> set[tuple[int, ...]]:
    """Identities of the contacts of a body that touch or carry; those merely within reach do not count."""
    contacts, carrying = part.contacts, part.state.impulses.carrying
    rows = _rows(probe, part) & (carrying | (contacts.gap <= 0.0))
    identity = np.column_stack((contacts.a, contacts.b, contacts.feature))[rows]
    return set(map(tuple, identity.tolist()))


def _rows(probe: Probe, part: StepResult) -> Mask:
    """The contacts that a probe measures."""
    a, b = part.contacts.a, part.contacts.b
    rows = (a == probe.body) | (b == probe.body)
    if probe.other is not None:
        rows &= (a == probe.other) | (b == probe.other)
    return np.asarray(rows)


def _arms(body: int, part: StepResult, rows: Mask) -> Array:
    contacts = part.contacts
    shift = np.where((contacts.b[rows] == body)[:, None], contacts.shift[rows], 0.0)
    return np.asarray(contacts.point[rows] - shift - part.middle.position[body])


def _moments(arms: Array, force: Array) -> Array:
    if arms.shape[1] == 3:
        return np.cross(arms, force)
    return (arms[:, 0] * force[:, 1] - arms[:, 1] * force[:, 0])[:, None]
