"""Conversion of capsule contacts, as found by detection, to contacts of rods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.rods.contacts import Arcs, Found, Others, refine
from clapas.bodies.touched import Neighbourhood, Sides
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts, Kind

ONE_POINT = [
    Kind.SPHERE,
    Kind.PLANE,
    Kind.CAPSULE,
    Kind.BOX,
    Kind.CYLINDER,
]  # kinds with a single contact per segment


def refined(arcs: Arcs, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float) -> Contacts:
    """Contacts on the curves; see :meth:`clapas.bodies.touched.BendingBodies.refine`."""
    n = len(contacts)
    if not n:
        return contacts
    table, where = others
    on_b = own.a >= 0  # the other side
    collider = np.where(on_b, contacts.collider_b, contacts.collider_a)
    kind = table.kind[collider].astype(np.int64)
    centre, frame = np.zeros((n, 3)), np.zeros((n, 3, 3))
    foreign = np.flatnonzero((own.a < 0) | (own.b < 0))  # not needed between two segments
    if len(foreign):
        rows_other, body = collider[foreign], np.where(on_b, contacts.b, contacts.a)[foreign]
        turn = where.orientation[body]
        centre[foreign] = where.position[body] + rotations.rotate(turn, table.position[rows_other])
        frame[foreign] = rotations.to_matrix(rotations.product(turn, table.orientation[rows_other]))
    other = Others(kind, table.size[collider], centre, frame)
    shift = np.require(contacts.shift, requirements=("C", "W"))
    found = Found(contacts.a, contacts.b, own.a, own.b, contacts.point, contacts.normal, contacts.gap, shift)
    kept, point, normal, gap = np.empty(n, np.int64), np.empty((n, 3)), np.empty((n, 3)), np.empty(n)
    count = refine(found, other, arcs, distance, kept, point, normal, gap)
    rows = kept[:count]
    once = (own.a[rows] >= 0) & (own.b[rows] >= 0)
    once |= ((own.a[rows] >= 0) | (own.b[rows] >= 0)) & np.isin(kind[rows], ONE_POINT)
    selected = contacts.take(rows)
    return replace(
        selected,
        feature=np.where(once, 0, selected.feature),
        point=point[:count],
        normal=normal[:count],
        gap=gap[:count],
    )
