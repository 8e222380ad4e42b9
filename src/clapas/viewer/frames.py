"""One frame of a recording as the page receives it.

Everything is in three dimensions and single precision, positions relative to the origin of the
drawing: a plane scene is flat at z = 0 and turns about z.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.dynamics.model import Model
from clapas.geometry.colliders import Contacts
from clapas.io.recording import Frame
from clapas.typing import Array
from clapas.viewer import skins
from clapas.viewer.packing import pack


def pack_frame(model: Model, frame: Frame, origin: Array, volume: Array, theta: float = 0.5) -> bytes:
    """Bytes of a frame.

    Parameters
    ----------
    model : Model
        The model.
    frame : Frame
        The frame.
    origin : array (3,)
        Subtracted from positions (m).
    volume : array (N,)
        Volumes of the bodies (m³, m² in the plane), for stresses.
    theta : float
        Parameter of the scheme: contacts were found θ dt before the frame.
    """
    state, contacts, d = frame.state, frame.contacts, model.d
    force = forces(frame)
    header = {
        "time": state.time,
        "step": state.step,
        "kinetic": frame.kinetic,
        "potential": frame.potential,
        "work": frame.work,
        "residual": frame.residual,
        "iterations": frame.iterations,
        "status": frame.status.name,
    }
    arrays = {
        "position": single(spatial(state.position) - origin),
        "orientation": single(quaternions(state.orientation)),
        "velocity": single(spatial(state.velocity[:, :d])),
        "spin": single(spatial_spin(state.velocity[:, d:])),
        "pressure": single(mean_pressure(contacts, force, middles(frame, theta), model, volume)),
        "a": contacts.a.astype("i4"),
        "b": contacts.b.astype("i4"),
        "point": single(spatial(contacts.point) - origin),
        "normal": single(spatial(contacts.normal)),
        "gap": single(contacts.gap),
        "force": single(spatial(force)),
        "mu": single(friction(model, contacts)),
        "mode": frame.mode.astype("u1"),
    }
    return pack(header, arrays | skins.packed_looks(frame, origin))


def forces(frame: Frame) -> Array:
    """Force on body b at each contact, mean over the step that led to the frame, (n, d) in N."""
    dt = frame.state.dt
    return frame.state.impulses.impulse / (dt if dt > 0.0 else 1.0)  # no impulse at the start


def middles(frame: Frame, theta: float) -> Array:
    """Centres where the contacts of a frame were found, θ dt before it, (N, d) (m)."""
    state = frame.state
    return state.position - theta * state.dt * state.velocity[:, : state.position.shape[1]]


def friction(model: Model, contacts: Contacts) -> Array:
    """Coefficient of friction of each contact, (n,)."""
    material = model.colliders.material
    return np.asarray(model.laws.mu[material[contacts.collider_a], material[contacts.collider_b]])


def mean_pressure(contacts: Contacts, force: Array, position: Array, model: Model, volume: Array) -> Array:
    """Mean pressure in each body from the forces on it: −tr σ / d, positive in compression, (N,) in Pa.

    ``position`` holds the centres where the contacts were found.

    σ = (1/V) Σ (x_c − x) ⊗ f over the contacts of the body is the mean of the stress in a body at rest
    (Weber 1966). Forces that balance make it independent of the point the arms are taken from, so an
    accelerated body gives only an estimate. Bodies without a volume get 0.
    """
    d = model.d
    trace = np.zeros(len(position))
    for body, on_body in ((contacts.a, -force), (contacts.b, force)):
        arm = contacts.point - position[body]
        for axis, length in enumerate(model.period):
            if length is not None:  # the touching image is the nearest one
                arm[:, axis] -= length * np.round(arm[:, axis] / length)
        trace += np.bincount(body, weights=(arm * on_body).sum(axis=1), minlength=len(position))
    known = volume[: len(position)]
    return np.asarray(-np.divide(trace, d * known, out=np.zeros_like(trace), where=known > 0.0))


def spatial(vectors: Array) -> Array:
    """Vectors (n, 3); plane ones get z = 0."""
    return vectors if vectors.shape[1] == 3 else np.pad(vectors, ((0, 0), (0, 1)))


def spatial_spin(spin: Array) -> Array:
    """Angular velocities (n, 3) in the body frame; plane ones are about z."""
    return spin if spin.shape[1] == 3 else np.pad(spin, ((0, 0), (2, 0)))


def quaternions(orientation: Array) -> Array:
    """Unit quaternions (n, 4), w first; angles become turns about z.

    >>> quaternions(np.array([[np.pi]])).round(12).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """
    if orientation.shape[1] == 4:
        return orientation
    half = orientation[:, 0] / 2.0
    zero = np.zeros_like(half)
    return np.column_stack((np.cos(half), zero, zero, np.sin(half)))


def single(values: Array) -> npt.NDArray[np.float32]:
    """Conversion to single precision, for graphics cards."""
    return values.astype(np.float32)
