"""Layout of recording files. SI units.

    /                 attributes: format, version, clapas (version of the package), dt, every, settings,
                      names, period, digest
    /scene            attribute source: the scene as JSON (empty if it cannot be written as a file)
    /model/…          constant arrays of the model, by name; blocked and laid only if there are such bodies
    /joints           joints (see :mod:`clapas.io.recording.joints`); only if there are any
    /systems/…        bodies of other kinds (see :mod:`clapas.io.recording.systems`); only if there are any
    /frames/…         one row per kept step; those of sleep only in runs with sleep. Coordinates and
                      velocities of system k are in /frames/systems/k
    /contacts/…       rows of all frames one after the other; frame i ends at row frames/contact_end[i]
    /links/…          likewise, up to frames/link_end[i]; only in runs with joints or systems
    /probes/…         one row per step, kept or not, the first for the start; only if there are probes.
                      Attribute probes: their names, quantities, bodies and components, as JSON

Frames have NaN for bodies not yet born. ``frames/step`` is written last: its length is the number of
complete frames whenever the writer is killed; the rows of contacts and probes up to its last step are
then complete too.

``frames/digest`` is a checksum of everything a frame adds (see :mod:`clapas.io.recording.digest`), the
attribute ``digest`` one of all constant data: they detect damage that leaves the file readable.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from clapas.errors import SettingsError

FORMAT = "clapas recording"
# Suffixes of other file formats.
OTHER_ENDINGS = frozenset(
    ".csv .txt .json .toml .yaml .vtk .vtu .pvd .png .svg .gif .mp4 .html .npz .obj .py".split()
)
VERSION = 3
OLDEST = 2  # oldest version that can be read: it has no systems
LAST_WRITTEN = "step"


class Column(NamedTuple):
    """A growing dataset: shape of a row (bodies, d, size, turn, couple, probes are filled in) and type.

    Noisy columns hardly compress: it takes ten times as long as writing them and saves a tenth. Moving
    columns are noisy unless many bodies sleep or are not yet born.
    """

    shape: tuple[str | int, ...]
    dtype: str
    unit: str
    meaning: str
    noisy: bool = False
    moving: bool = False


FRAMES = {
    "time": Column((), "f8", "s", "time"),
    "alive": Column((), "i8", "1", "bodies born"),
    "position": Column(("bodies", "d"), "f8", "m", "centres of mass", noisy=True),
    "orientation": Column(("bodies", "turn"), "f8", "1", "quaternions w x y z, or angles (rad)", moving=True),
    "velocity": Column(
        ("bodies", "size"), "f8", "m/s, rad/s", "velocity (world), spin (body frame)", moving=True
    ),
    "contact_end": Column((), "i8", "1", "end of the rows of /contacts of this frame"),
    "kinetic": Column((), "f8", "J", "kinetic energy"),
    "potential": Column((), "f8", "J", "potential energy of gravity"),
    "work": Column((), "f8", "J", "work of the contacts since the start"),
    "given": Column((), "f8", "J", "work of walls, guides and loads since the start"),
    "residual": Column((), "f8", "1", "residual of the contact problem of the step"),
    "worst": Column((), "f8", "1", "largest residual of the steps since the frame before"),
    "iterations": Column((), "i8", "1", "iterations of the solver"),
    "status": Column((), "i1", "1", "status of the solver, in the order of clapas.Status"),
    "seconds": Column((), "f8", "s", "wall time of the solver"),
    "dt": Column((), "f8", "s", "length of the step, or of the last part of a divided one"),
    "digest": Column((), "u8", "1", "checksum of the frame, its contacts and its probes", noisy=True),
    "step": Column((), "i8", "1", "steps done"),
}
LATER = ("given", "digest", "worst")  # columns missing in files of early versions

SLEEP = {
    "round": Column((), "i8", "1", "steps done of the round of watch and rest"),
    "asleep": Column(("bodies",), "i1", "1", "bodies asleep"),
    "moved": Column(("bodies", "size"), "f8", "m, rad", "how far bodies went in the watch", noisy=True),
    "pace": Column(
        ("bodies",), "f8", "1/s", "mean pace of the watches so far, radii and radians", noisy=True
    ),
    "load": Column(("bodies",), "f8", "N·s", "impulses borne in the watch", noisy=True),
    "borne": Column(("bodies",), "f8", "N·s", "impulses borne by sleepers from bodies awake"),
}

CONTACTS = {
    "a": Column((), "i8", "1", "body a"),
    "b": Column((), "i8", "1", "body b"),
    "collider_a": Column((), "i8", "1", "collider of a"),
    "collider_b": Column((), "i8", "1", "collider of b"),
    "feature": Column((), "i8", "1", "which point of the pair"),
    "point": Column(("d",), "f8", "m", "contact point", noisy=True),
    "normal": Column(("d",), "f8", "1", "unit normal from a to b", noisy=True),
    "gap": Column((), "f8", "m", "signed distance at the middle of the step", noisy=True),
    "impulse": Column(("d",), "f8", "N·s", "impulse on b in the world", noisy=True),
    "couple": Column(
        ("couple",), "f8", "N·m·s", "couple on b in the world, by rolling and spinning resistance"
    ),
    "mode": Column((), "i1", "1", "0 open, 1 sticking, 2 sliding"),
}

LINKS = {  # in the rows of a frame these are called links/owner and so on
    "owner": Column((), "i8", "1", "system that has the link, −1 for joints"),
    "identity": Column((), "i8", "1", "which of its links"),
    "impulse": Column(("d",), "f8", "N·s", "impulse along the rows of the link", noisy=True),
}
LINK_END = {"link_end": Column((), "i8", "1", "end of the rows of /links of this frame")}

PROBES = {
    "time": Column((), "f8", "s", "time"),
    "values": Column(("probes",), "f8", "SI", "components of all probes, one after another"),
}

MODEL = "gravity mass inertia movable position orientation velocity birth".split()
MAYBE = "blocked laid".split()  # optional arrays of the model
COLLIDERS = "body kind position orientation size bound material hull".split()
HULLS = "vertices vertex_start normals face_start face_vertices loop_start".split()
LAWS = "mu restitution tangential_restitution cohesion rolling spinning mu_across direction".split()


def require_recording_name(path: Path) -> None:
    """Reject a name for a new recording with the suffix of another file format."""
    if path.suffix.lower() not in OTHER_ENDINGS:
        return
    name = path.with_suffix(".h5")
    raise SettingsError(
        f"{path}: a recording is an HDF5 file, give it a name such as {name}. "
        f"'clapas export {shlex.quote(str(name))}' makes tables (--csv FOLDER) and ParaView files "
        "(--vtk FOLDER) of it, 'clapas snapshot' and 'clapas movie' pictures"
    )
