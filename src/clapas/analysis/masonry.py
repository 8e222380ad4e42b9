"""Stability of structures of blocks, in 2-D and 3-D, by limit analysis and by dynamics.

Limit analysis determines whether *some* forces in the friction cones hold the blocks under their loads
(:class:`~clapas.analysis.equilibria.Equilibria`). If there are none the structure falls for any
history. If there are some it *may* stand: sliding by Coulomb's law is not normal to the friction cone, so
the safe theorem of plasticity does not hold (Drucker 1954). Dynamics simulates the release of the blocks
from rest: one history, with forces determined by the motion. The two results together are the verdict.

References: Heyman 1966; Livesley 1978, 1992 (blocks in the plane and in space); Kao and others 2022 (coupled
rigid-block analysis: the same set of forces, with a compatible motion).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clapas.analysis.equilibria import Equilibria, Resting, bisect
from clapas.analysis.least_reach import least_reach
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.errors import SettingsError
from clapas.geometry.rotations import rotate, rotate_back
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import Auto
from clapas.typing import Array

ROUGH = 10.0  # coefficient of friction taken as infinite
MARGIN = 3e-5  # of the radius of the smallest block: blocks nearer than this touch (files keep 6 digits)
MOVING = 1e-3  # of free fall: blocks that gain speed faster than this are falling
STRAYED = 0.1  # of its radius: a block that has moved further has fallen, also if it lies still again
TOL = 1e-6  # residual of the contact problems of the dynamics
VERTICAL = 1e-12  # of the largest load: rounding of loads that are vertical
STEEPEST = 89.95  # degrees: a slope above it counts as none
SLOPES = 5.0  # degrees between the slopes that are tried first

MEANINGS = {
    (True, True): "some forces hold it, and let go from rest it stays",
    (False, False): "no forces in the friction cones hold it, and let go from rest it falls",
    (True, False): (
        "forces that hold it exist, but let go from rest it falls: with Coulomb's friction possible "
        "forces are no promise (sliding is not normal to the cone). It may stand after another history of "
        "loading, and is not safe"
    ),
    (False, True): (
        "no forces in the friction cones hold it where it was drawn, yet it hardly moves: it is within "
        "rounding of its limit, or gaps of the drawing closed, or the time was too short; watch it longer"
    ),
    (True, None): "some forces hold it: it may stand",
    (False, None): "no forces in the friction cones hold it: it falls",
}


@dataclass(frozen=True)
class Verdict:
    """Results of limit analysis and dynamics.

    Parameters
    ----------
    can_stand : bool
        Whether some forces hold the blocks (limit analysis).
    stays : bool or None
        Whether they stay when released from rest (dynamics): slow at the end, and nowhere else than at the
        start; None if not computed.
    time : float
        Simulated time (s).
    moved : float
        Largest displacement of a block (m).
    speed : float
        Speed of the fastest block at the end (m/s).
    fastest : str
        Its name.
    """

    can_stand: bool
    stays: bool | None
    time: float = 0.0
    moved: float = 0.0
    speed: float = 0.0
    fastest: str = ""

    @property
    def word(self) -> str:
        """The verdict: "stands", "falls", "may stand" or "unclear"."""
        words = {(True, True): "stands", (False, True): "unclear", (True, None): "may stand"}
        return words.get((self.can_stand, self.stays), "falls")

    @property
    def meaning(self) -> str:
        """Explanation of the verdict, in a sentence."""
        return MEANINGS[self.can_stand, self.stays]

    def __str__(self) -> str:
        return f"{self.word}: {self.meaning}"


@dataclass(frozen=True)
class Tilt:
    """The smallest slope of the ground at which the structure cannot stand.

    Parameters
    ----------
    angle : float
        Slope (degrees); 0 if it cannot stand on level ground, 90 if there is no limit.
    direction : tuple of d floats
        Horizontal direction towards which it is tilted down.
    """

    angle: float
    direction: tuple[float, ...]


@dataclass(frozen=True)
class JointForce:
    """The resultant between two blocks in one equilibrium.

    Parameters
    ----------
    a, b : int
        Numbers of the bodies.
    point : array (d,)
        Point of application: mean of the contact points weighted by normal force (m).
    force : array (d,)
        On b (N).
    normal : array (d,)
        Mean normal from a to b.
    mobilised : float
        |F_T| / (mu F_N): 1 at sliding, 0 without friction at work.
    """

    a: int
    b: int
    point: Array
    force: Array
    normal: Array
    mobilised: float


class Masonry:
    """Stability analyses of a structure of blocks.

    Parameters
    ----------
    scene : Scene
        Blocks, supports and friction, in 2-D or 3-D; see :func:`clapas.scenes.blocks.scene_of_blocks` for
        blocks from files. Loads and gravity are those of the scene.
    margin : float, optional
        Blocks nearer than this touch (m); by default 3e-5 of the radius of the smallest block.

    Examples
    --------
    The arch of 11 stones that comes with the package:

    >>> from clapas.scenes.blocks import scene_of_blocks
    >>> from clapas.scenes.examples import arch_file
    >>> arch = Masonry(scene_of_blocks(arch_file(), mu=0.6))
    >>> arch.can_stand(), round(arch.least_friction(), 3)
    (True, 0.307)
    """

    def __init__(self, scene: Scene, margin: float | None = None) -> None:
        self.scene = scene
        self.model: Model = compile_scene(scene)
        if self.model.systems or self.model.joints is not None or self.model.blocked is not None:
            raise SettingsError(
                "masonry is made of free blocks and supports: this scene has joints, guides or systems; take "
                "Equilibria.of_problem(at_rest(scene))"
            )
        if not self.model.movable.any():
            raise SettingsError(
                "no block of this scene may move: there is nothing to ask; name fewer supports"
            )
        self.start: State = initial_state(self.model)
        self.margin = MARGIN * self.model.smallest if margin is None else margin
        if not self.margin >= 0.0:
            raise SettingsError(f"margin must be at least 0, got {self.margin}")

    def __repr__(self) -> str:
        moving = int(self.model.movable.sum())
        return f"Masonry({moving} blocks, {self.model.n_bodies - moving} supports, in {self.model.d}-D)"

    @cached_property
    def resting(self) -> Resting:
        """Its contacts and their problem, in the initial positions."""
        return Resting.of(self.model, self.start, self.margin)

    @cached_property
    def _as_given(self) -> Equilibria:
        return Equilibria.of_problem(self.resting.problem)

    def equilibria(self, mu: float | None = None) -> Equilibria:
        """All equilibrium forces, with the friction of the scene, or one coefficient for all joints."""
        if mu is None:
            return self._as_given
        if not mu >= 0.0:
            raise SettingsError(f"mu must be at least 0, got {mu}")
        if self._as_given.couples:
            raise SettingsError("contacts that resist rolling have no single coefficient: give no mu")
        return replace(self._as_given, mu=np.full(self._as_given.n_contacts, float(mu)), limits=None)

    # ---------------------------------------------------------------- limit analysis

    def can_stand(self, mu: float | None = None) -> bool:
        """Whether equilibrium forces exist."""
        return self.equilibria(mu).one() is not None

    def least_friction(self, accuracy: float = 1e-4) -> float:
        """Least coefficient, the same at all joints, with equilibrium forces; inf if there is none."""
        if self.can_stand(0.0):
            return 0.0
        if not self.can_stand(ROUGH):
            return math.inf
        return bisect(self.can_stand, 0.0, ROUGH, accuracy)

    def largest_load(self, loads: Mapping[int | str, Sequence[float]]) -> float:
        """Largest factor of loads, added to the weight, with equilibrium forces.

        Parameters
        ----------
        loads : mapping
            Forces (N) at the centres of blocks, by name or number: ``{"voussoir_06": (0, 0, -1000)}``.

        Returns
        -------
        float
            −inf if there are none for the weight alone, inf if there is no limit.
        """
        live = np.zeros((int(self.model.movable.sum()), self.model.velocity.shape[1]))
        for name, force in loads.items():
            number = self.scene.number(name)
            if not self.model.movable[number]:
                raise SettingsError(f"load on '{name}': it is a support; load a block that may move")
            vector = np.asarray(force, dtype=float)
            if vector.shape != (self.model.d,) or not np.isfinite(vector).all():
                raise SettingsError(
                    f"load on '{name}': expected {self.model.d} finite numbers, got {force!r}"
                )
            live[int(self.model.movable[:number].sum()), : self.model.d] = vector
        return self._as_given.largest_load(live.ravel())

    def largest_tilt(self, directions: Sequence[Sequence[float]] | None = None) -> Tilt:
        """Largest slope of the ground with equilibrium forces, towards the worst direction.

        Tilting by θ turns the weights by θ as the ground sees them, and with them the loads of the scene,
        which keep their directions in the world. Cones are scale-free, so that for vertical loads this is
        exactly a horizontal force tan θ times the load of each block, or a horizontal acceleration tan θ · g.
        With cohesion or other loads it is found by bisection, to a thousandth of a degree.

        Horizontal accelerations that some forces can hold are a convex set. In space the direction in which
        it reaches least far is searched for, to 0.5 % of the tangent
        (:func:`~clapas.analysis.least_reach.least_reach`).

        Parameters
        ----------
        directions : sequence of vectors, optional
            Horizontal directions of the downhill side, of which the worst is taken; all by default.
        """
        gravity = np.asarray(self.model.gravity, dtype=float)
        size = float(np.linalg.norm(gravity))
        if size == 0.0:
            raise SettingsError("there is no gravity in this scene: nothing to tilt")
        down = gravity / size
        if directions is not None:
            tilts = [self._tilt(down, _horizontal(direction, down)) for direction in directions]
            return min(tilts, key=lambda tilt: tilt.angle)
        axes = _level(down)
        if len(axes) == 1:
            return min(
                (self._tilt(down, sign * axes[0]) for sign in (1.0, -1.0)), key=lambda tilt: tilt.angle
            )

        def along(angle: float) -> Array:
            return np.asarray(math.cos(angle) * axes[0] + math.sin(angle) * axes[1])

        def reach(angle: float) -> float:
            return math.tan(math.radians(min(self._steepest(down, along(angle)), STEEPEST)))

        angle, slope = least_reach(reach)
        steepest = math.degrees(math.atan(slope))
        return Tilt(90.0 if steepest >= STEEPEST - 1e-6 else steepest, _plain(along(angle)))

    def _tilt(self, down: Array, along: Array) -> Tilt:
        return Tilt(self._steepest(down, along), _plain(along))

    def _steepest(self, down: Array, along: Array) -> float:
        """Largest slope (degrees) with equilibrium forces, downhill along a horizontal unit vector."""
        given, d = self._as_given, self.model.d
        loads = -given.f.reshape(-1, self.model.velocity.shape[1])
        weight = loads[:, :d] @ down
        others = (
            np.abs(loads).max(initial=0.0),
            np.abs(loads[:, :d] - weight[:, None] * down).max(initial=0.0),
        )
        is_vertical = not loads[:, d:].any() and others[1] <= VERTICAL * others[0]
        if is_vertical and (given.cohesion is None or not given.cohesion.any()):
            live = np.zeros_like(loads)
            live[:, :d] = weight[:, None] * along
            return math.degrees(math.atan(max(given.largest_load(live.ravel()), 0.0)))

        def falls(angle: float) -> bool:
            turned = self._turned(loads, math.radians(angle), down, along)
            return replace(given, f=-turned.ravel()).one() is None

        # Loads that hold are convex: between two slopes that hold all do, for loads smaller by up to 1e-3.
        slopes = np.arange(0.0, 90.0 + SLOPES, SLOPES).tolist()
        first = next((k for k, slope in enumerate(slopes) if falls(slope)), None)
        if first is None:
            return 90.0
        return bisect(falls, slopes[first - 1], slopes[first], 1e-3) if first else 0.0

    def _turned(self, loads: Array, angle: float, down: Array, along: Array) -> Array:
        """Forces in the world and torques in the frames of bodies, turned from ``down`` to ``along``."""
        d, turned = self.model.d, loads.copy()
        flat, turn = np.outer(down, down) + np.outer(along, along), np.outer(along, down)
        R = np.eye(d) + (math.cos(angle) - 1.0) * flat + math.sin(angle) * (turn - turn.T)
        turned[:, :d] = loads[:, :d] @ R.T
        if d == 3:
            for k, q in enumerate(self.start.orientation[self.model.movable]):
                turned[k, d:] = rotate_back(q, R @ rotate(q, loads[k, d:]))
        return turned

    def joint_forces(self, r: Array | None = None) -> list[JointForce]:
        """Resultants between blocks in an equilibrium r (n, k), by default one that limit analysis finds."""
        if r is None:
            r = self._as_given.one()
        if r is None:
            raise SettingsError("no forces hold these blocks: there is no equilibrium to show")
        return joint_forces(self.resting, r)

    # ---------------------------------------------------------------- dynamics

    def verdict(self, time: float | None = 0.5, dt: float = 2e-3) -> Verdict:
        """Limit analysis and dynamics together.

        Parameters
        ----------
        time : float or None
            Simulated time after release (s); None leaves dynamics out.
        dt : float
            Time step (s).
        """
        can_stand = self.can_stand()
        if time is None:
            return Verdict(can_stand, None)
        memory = Memory()
        steps = max(1, round(time / dt))
        simulate(self.model, time, dt, Auto(tol=TOL), every=steps, on_unsolved="record", recorder=memory)
        state, d, moving = memory.steps[-1].state, self.model.d, np.flatnonzero(self.model.movable)
        moved = np.linalg.norm((state.position - self.start.position)[moving], axis=1)
        reach = self.model.reach[moving]
        spin = np.linalg.norm(state.velocity[moving, d:], axis=1) * reach
        speed = np.linalg.norm(state.velocity[moving, :d], axis=1) + spin
        k = int(np.argmax(speed))
        falls = speed[k] > MOVING * self.model.acceleration * state.time
        falls |= bool((moved > STRAYED * reach).any())
        name = self.model.names[moving[k]] or str(moving[k])
        return Verdict(can_stand, not falls, state.time, float(moved.max()), float(speed[k]), name)


def _horizontal(direction: Sequence[float], down: Array) -> Array:
    """The horizontal unit vector nearest to a direction."""
    given = np.asarray(direction, dtype=float)
    along = given - (given @ down) * down
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise SettingsError(f"direction {tuple(direction)} is vertical: a tilt needs a horizontal one")
    return np.asarray(along / length)


def _level(down: Array) -> list[Array]:
    """Orthonormal horizontal directions: axes of the world where they are horizontal."""
    found: list[Array] = []
    for axis in np.eye(len(down))[np.argsort(np.abs(down), kind="stable")[:-1]]:
        along = _horizontal(axis, down)
        along = along - sum((along @ other) * other for other in found)
        found.append(along / np.linalg.norm(along))
    return found


def _plain(direction: Array) -> tuple[float, ...]:
    """Components, zero instead of rounding."""
    return tuple(map(float, np.where(np.abs(direction) < 1e-15, 0.0, direction) + 0.0))


def joint_forces(resting: Resting, r: Array) -> list[JointForce]:
    """Resultants between the pairs of bodies of contacts with forces r (n, k) in their frames."""
    contacts, d = resting.contacts, resting.model.d
    force = np.einsum("nk,nkx->nx", r[:, :d], resting.frame)
    forces = []
    for a, b in dict.fromkeys(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)):
        pair = (contacts.a == a) & (contacts.b == b)
        pressure = r[pair, 0]
        total = float(pressure.sum())
        if total <= 0.0:
            continue
        resultant = force[pair].sum(axis=0)
        normal = contacts.normal[pair].mean(axis=0)
        normal = normal / np.linalg.norm(normal)
        push = float(resultant @ normal)
        mu = float(resting.problem.mu[pair].mean())
        slide = float(np.linalg.norm(resultant - push * normal))
        mobilised = slide / (mu * push) if mu * push > 0.0 else 0.0
        forces.append(JointForce(a, b, pressure @ contacts.point[pair] / total, resultant, normal, mobilised))
    return forces
