"""Compilation of a scene into the arrays of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clapas.dynamics.births import initial_state
from clapas.dynamics.deposition import refuse_other_shapes
from clapas.dynamics.joints.anchors import anchors_of
from clapas.dynamics.joints.definition import SystemEnd
from clapas.dynamics.joints.rows import JointRows, ends_on_systems, joint_rows
from clapas.dynamics.model import Model
from clapas.dynamics.names import Names
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.representable import require_masses
from clapas.dynamics.systems import on_true_surfaces
from clapas.errors import SceneError
from clapas.geometry.colliders import one_row_if_alike
from clapas.geometry.table import collider_table
from clapas.scenes.overlaps import Start, refuse_overlaps
from clapas.scenes.records import BodyRecord
from clapas.scenes.scene import Scene
from clapas.typing import Mask


def compile_scene(scene: Scene, check_overlaps: bool = True) -> Model:
    """Turn a scene into a model, checking it as a whole.

    Raises
    ------
    SceneError
        Two materials can touch without a law, or bodies interpenetrate at the start.
    """
    records = scene.records()
    laws = scene.law_table()
    rows = [(body.number, body.shape, body.material, body.frame) for body in records]
    n, size, turn = len(records), (6 if scene.d == 3 else 3), (4 if scene.d == 3 else 1)
    model = Model(
        gravity=np.array(scene.gravity),
        mass=np.array([body.mass for body in records]),
        inertia=np.array([body.inertia for body in records]).reshape(n, size - scene.d),
        movable=np.array([body.movable for body in records], dtype=bool),
        position=np.array([body.position for body in records]).reshape(n, scene.d),
        orientation=one_row_if_alike(np.array([body.orientation for body in records]).reshape(n, turn)),
        velocity=one_row_if_alike(np.array([body.velocity for body in records]).reshape(n, size)),
        birth=np.array([body.birth for body in records]),
        colliders=collider_table(scene.d, rows),
        laws=laws,
        motions={body.number: body.motion for body in records if body.motion is not None},
        blocked=_blocked(records, size),
        laid=np.array([body.laid for body in records]) if any(body.laid for body in records) else None,
        loads={body.number: body.load for body in records if body.load is not None},
        period=scene.period,
        names=Names(body.name for body in records),
        probes=tuple(scene.probes),
        systems=tuple(scene.systems),
        joints=_joints(scene, records),
        ignored=np.array(sorted(scene.ignored), dtype=np.int64) if scene.ignored else None,
        pressed=tuple(scene.pressed),
    )
    require_masses(model)
    _refuse_couples(model)
    refuse_other_shapes(model)
    if check_overlaps:
        refuse_overlaps(records, at_start(model, records), scene.overlap)
    return model


def at_start(model: Model, records: Sequence[BodyRecord]) -> Start:
    """Initial contacts of a model, with its movable bodies and their sizes."""
    # Time −max: bodies without birth time exist from the start.
    state = initial_state(model, time=-np.finfo(float).max)
    contacts = Neighbours(model).detect(state, 0.0)
    size = np.array([record.shape.reach for record in records])
    if not model.systems:
        return Start(contacts, model.movable, size)
    contacts = on_true_surfaces(model, state, contacts, 0.0)
    a, b = model.system_of[contacts.a], model.system_of[contacts.b]
    contacts = contacts.take(np.flatnonzero((a < 0) | (a != b)))  # neighbours along a rod share its surface
    for system in model.systems:
        if len(system.rows):
            size[system.rows] += np.linalg.norm(np.ptp(state.position[system.rows], axis=0))
    return Start(contacts, model.movable | (model.system_of >= 0), size)


def _refuse_couples(model: Model) -> None:
    """Reject rolling and spinning resistance beside polygonal friction, and on systems."""
    if model.laws.has_sections and model.laws.has_couples:
        raise SceneError(
            "laws with a polygonal section of friction and laws with rolling or spinning resistance cannot "
            "be in one scene yet: leave out one of them"
        )
    if model.laws.has_thresholds and (model.laws.has_sections or model.laws.has_couples):
        raise SceneError(
            "laws with a threshold or a viscosity cannot be in one scene with polygonal sections, rolling or "
            "spinning resistance yet: leave out one of them"
        )
    laws, material, body = model.laws, model.colliders.material, model.colliders.body
    turning = np.flatnonzero(((laws.rolling > 0.0) | (laws.spinning > 0.0)).any(axis=1))
    for system in model.systems:
        if np.isin(material[np.isin(body, system.rows)], turning).any():
            raise SceneError(
                "laws with rolling or spinning resistance do not reach systems, whose points do not turn: "
                f"give '{system.name}' a material whose laws have neither rolling nor spinning"
            )


def _blocked(records: Sequence[BodyRecord], size: int) -> Mask | None:
    """Which degrees of freedom of guided bodies are blocked; None if no body is guided."""
    if not any(body.blocked for body in records):
        return None
    return np.array([body.blocked or (False,) * size for body in records])


def _joints(scene: Scene, records: Sequence[BodyRecord]) -> JointRows | None:
    """The rows of the joints; None without joints."""
    if not scene.joints:
        return None
    for joint in scene.joints:
        ends = [body for body in (joint.a, joint.b) if body is not None]
        if not any(isinstance(body, SystemEnd) or records[body].movable for body in ends):
            raise SceneError(
                f"joint '{joint.name}': neither of its bodies can move; leave it out, or free one of them"
            )
    position = np.array([body.position for body in records]).reshape(len(records), scene.d)
    turn = 4 if scene.d == 3 else 1
    orientation = np.array([body.orientation for body in records]).reshape(len(records), turn)
    system_ends, anchors = ends_on_systems(scene.joints), None
    if system_ends:
        parts = [system.bodies.start() for system in scene.systems]
        anchors = anchors_of(system_ends, scene.systems, parts).poses
    return joint_rows(scene.joints, position, orientation, scene.mimics, anchors)
