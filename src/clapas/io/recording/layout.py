"""What a recording file holds. SI units throughout.

    /                 attributes: format, version, clapas (version of the package), dt, every, settings
    /scene            attribute source: the scene as JSON (empty if it cannot be written as a file)
    /model/…          constant arrays of the model, by name
    /frames/…         one row per kept step
    /contacts/…       rows of all frames one after the other; frame i ends at row frames/contact_end[i]

Frames have NaN for bodies not yet born. ``frames/step`` is written last: its length is the number of
frames that are complete, whatever instant the writer was killed at.
"""

from __future__ import annotations

from typing import NamedTuple

FORMAT = "clapas recording"
VERSION = 1
LAST_WRITTEN = "step"


class Column(NamedTuple):
    """A growing dataset: shape of a row (N bodies, d, size, turn are filled in) and type."""

    shape: tuple[str | int, ...]
    dtype: str
    unit: str
    meaning: str


FRAMES = {
    "time": Column((), "f8", "s", "time"),
    "alive": Column((), "i8", "1", "bodies born"),
    "position": Column(("bodies", "d"), "f8", "m", "centres of mass"),
    "orientation": Column(("bodies", "turn"), "f8", "1", "quaternions w x y z, or angles (rad)"),
    "velocity": Column(("bodies", "size"), "f8", "m/s, rad/s", "velocity (world), spin (body frame)"),
    "contact_end": Column((), "i8", "1", "end of the rows of /contacts of this frame"),
    "kinetic": Column((), "f8", "J", "kinetic energy"),
    "potential": Column((), "f8", "J", "potential energy of gravity"),
    "work": Column((), "f8", "J", "work of the contacts since the start"),
    "residual": Column((), "f8", "1", "residual of the contact problem of the step"),
    "iterations": Column((), "i8", "1", "iterations of the solver"),
    "status": Column((), "i1", "1", "status of the solver, in the order of clapas.Status"),
    "seconds": Column((), "f8", "s", "wall time of the solver"),
    "step": Column((), "i8", "1", "steps done"),
}

CONTACTS = {
    "a": Column((), "i8", "1", "body a"),
    "b": Column((), "i8", "1", "body b"),
    "collider_a": Column((), "i8", "1", "collider of a"),
    "collider_b": Column((), "i8", "1", "collider of b"),
    "feature": Column((), "i8", "1", "which point of the pair"),
    "point": Column(("d",), "f8", "m", "contact point"),
    "normal": Column(("d",), "f8", "1", "unit normal from a to b"),
    "gap": Column((), "f8", "m", "signed distance at the middle of the step"),
    "impulse": Column(("d",), "f8", "N·s", "impulse on b in the world"),
    "mode": Column((), "i1", "1", "0 open, 1 sticking, 2 sliding"),
}

MODEL = "gravity mass inertia movable position orientation velocity birth".split()
COLLIDERS = "body kind position orientation size bound material hull".split()
HULLS = "vertices vertex_start normals face_start face_vertices loop_start".split()
LAWS = "mu restitution tangential_restitution cohesion".split()
