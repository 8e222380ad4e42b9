"""Contacts between spheres, or of spheres with walls: geometry in place of blocks.

A contact of a sphere lies on the line through its centre along the normal n. With the distances ρ from the
two centres to the contact, the relative velocity in the world and the effect of an impulse f are

    d = v_b − v_a − (ρ_a ω_a + ρ_b ω_b) × n,
    m v += ± f,      J ω −= ρ n × f,

so a contact needs five numbers where its blocks of H have 36 (the tangents follow from the normal), and a
body eight: a cache line. Large packings are bound by memory bandwidth; every pass over them gains. W_ii is
also diagonal, the same along both tangents: a single contact has a closed-form solution.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.prefetch import prefetch_bodies
from clapas.compiled.sharing import launch
from clapas.compiled.tables import are_equal
from clapas.compiled.threads import Worker, chunk, thread_count, wait
from clapas.linalg.norms import SAFE, norm
from clapas.linalg.quaternions import rotate_back, spins_in_body_frames
from clapas.problems.blocks import BodyBlocks, frames, tangents
from clapas.problems.judge import ROUNDING, violation_square
from clapas.typing import Array, Indices

STRIDE = 1024  # contacts summed together, whatever the number of threads: sums do not depend on it
ROW = 8  # v, ω, 1/m, 1/J
SPEED, SPIN, LONGEST, FLAWS = range(4)  # of extremes
MOST_KEPT = 300_000  # contacts: beyond, memory is scarcer than time


class SphereBlocks(BodyBlocks):
    """Blocks of a contact problem between spheres, in 3-D; G is computed only when needed.

    Parameters
    ----------
    normal : array (n, 3)
        Unit normals from a to b; the tangents are those of :func:`clapas.problems.blocks.frames`.
    reach : array (n, 2)
        Distances ρ along the normal: from the centre of a to the contact, from there to that of b (m).
    bodies : array (n, 2)
        The two bodies; the ground is body number ``n_bodies``.
    x_free : array (n_bodies + 1, 8)
        Of each body: velocity and spin without impulses, in the world (m/s, rad/s), 1/m and 1/J. The last
        row, the ground's, is zero.
    orientation : array (n_bodies, 4), optional
        Unit quaternions of the frames of the bodies. The degrees of freedom are velocities in the world and
        spins in these frames, as those of any rigid body; without, spins in the world.
    response : array (n,), optional
        Mean diagonals of the blocks W_ii, if known already.
    extremes : Extremes, optional
        Largest of the data, if known already.
    """

    normal: Array
    reach: Array
    x_free: Array
    orientation: Array | None
    _last: tuple[Array, Array] | None

    def __init__(
        self,
        normal: Array,
        reach: Array,
        bodies: Indices,
        x_free: Array,
        orientation: Array | None = None,
        response: Array | None = None,
        extremes: Extremes | None = None,
    ) -> None:
        arrays = {"normal": normal, "reach": reach, "bodies": bodies, "x_free": x_free}
        self.__dict__.update(arrays, orientation=orientation, _last=None)  # frozen, as BodyBlocks is
        known = {"response": response, "extremes": extremes}
        self.__dict__.update({name: data for name, data in known.items() if data is not None})

    @property
    def n_bodies(self) -> int:
        """Bodies that can move."""
        return len(self.x_free) - 1

    @property
    def d(self) -> int:
        """Components at a contact."""
        return 3

    @property
    def size(self) -> int:
        """Degrees of freedom of a body."""
        return 6

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        return not self.extremes.flaws

    @property
    def primary_arrays(self) -> dict[str, Array]:
        """Primary arrays by name, from which all others follow."""
        return {"normal": self.normal, "reach": self.reach, "x_free": self.x_free}

    def moved(self, r: Array) -> Array:
        """The rows of the bodies under the impulses r."""
        return self._add_impulses(self.x_free, r)

    def pushed(self, r: Array) -> SphereBlocks:
        """The same bodies with the impulses r added to their free motion."""
        return self.with_free(self.moved(r))

    def with_free(self, rows: Array) -> SphereBlocks:
        """The same bodies with other rows x_free."""
        return SphereBlocks(self.normal, self.reach, self.bodies, rows, self.orientation)

    def lighter(self, bodies: Indices, factors: Indices) -> SphereBlocks:
        """The same motion without impulses, some bodies so many times lighter."""
        rows, arms = self.x_free.copy(), (self.normal, self.reach, self.bodies)
        rows[bodies, 6:] *= factors[:, None]
        return SphereBlocks(*arms, rows, self.orientation, extremes=self.extremes)

    def largest_term(self) -> float:
        """Size of the terms that add up to the free velocities at the contacts (m/s)."""
        return 2.0 * (self.extremes.speed + 2.0 * self.extremes.spin * self.extremes.longest)

    @cached_property
    def extremes(self) -> Extremes:
        """The largest of the data, and how many of them are not finite."""
        found = np.zeros((self._threads, len(Extremes._fields)))
        arguments = self.normal, self.reach, self.x_free
        launch(self._threads, find_extremes, *arguments, found)
        return Extremes.of(found)

    def motion(self, r: Array) -> Array:
        """Body velocities y under the impulses r; the ground's stay zero."""
        y = np.zeros((len(self.x_free), 6))
        y[:-1] = self._under(r)[:-1, :6] / self._scale
        return y

    def velocity(self, r: Array, w: Array | None) -> Array:
        """Velocities at the contacts."""
        return self.at_contacts(self._under(r), w)

    def free_velocity(self, w: Array | None) -> Array:
        """Velocities at the contacts without impulses."""
        return self.at_contacts(self.x_free, w)

    def free_speeds(self, w: Array | None) -> tuple[float, float]:
        """Size of the free velocities, and their largest component."""
        sizes = np.zeros((-(-self.n_contacts // STRIDE), 2))
        arguments = self.normal, self.reach, self.bodies, self.x_free, imposed(w)
        launch(self._threads, sizes_of_velocities, *arguments, sizes)
        size, largest = float(np.sqrt(sizes[:, 0].sum())), float(sizes[:, 1].max(initial=0.0))
        squares_hold = SAFE < size < 1.0 / SAFE or largest == 0.0
        return (size if squares_hold else norm(self.free_velocity(w))), largest

    def apply_delassus(self, r: Array) -> Array:
        """W r: the change of the velocities at the contacts due to the impulses r."""
        at_rest = self.x_free.copy()
        at_rest[:, :6] = 0.0
        return self.at_contacts(self._add_impulses(at_rest, r), None)

    def bodies_velocity(self, r: Array) -> Array:
        """Velocities and spins of the bodies in their coordinates, (m,)."""
        return self.velocities_of(self._under(r)).ravel()

    def velocities_of(self, rows: Array) -> Array:
        """Velocities and spins (n_bodies, 6) of bodies with these rows, in their coordinates."""
        v = np.empty((self.n_bodies, 6))
        turn = np.empty((0, 4)) if self.orientation is None else self.orientation
        launch(self._threads, fill_velocities_of_bodies, rows, turn, v)
        return v

    @cached_property
    def response(self) -> Array:
        """Mean diagonals of the blocks W_ii, (n,)."""
        result = np.empty(self.n_contacts)
        launch(self._threads, fill_responses, self.reach, self.bodies, self.x_free, result)
        return result

    def violation_norm(self, r: Array, w: Array | None, mu: Array, response: Array) -> float:
        """Size of the violation of the law: see :func:`clapas.problems.judge.violation_norm`."""
        total, hidden = self.violation_sums(self._under(r), r, w, mu, response)
        return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))

    def violation_sums(
        self, x: Array, r: Array, w: Array | None, mu: Array, response: Array
    ) -> tuple[float, float]:
        """Sums of squares of the violation for body rows x, and of its rounding error."""
        squares = np.zeros((-(-len(r) // STRIDE), 2))
        arguments = self.normal, self.reach, self.bodies, x, imposed(w), r, mu, response
        launch(self._threads, violation_squares, *arguments, squares)
        total, hidden = squares.sum(axis=0)
        return float(total), float(hidden)

    # ---------------------------------------------------------------- as blocks, for methods that need them

    @cached_property
    def G(self) -> Array:
        """Blocks of H L⁻ᵀ, (n, 2, 3, 6)."""
        scale = np.sqrt(self.x_free[:, 6:])[self.bodies] * [[-1.0], [1.0]]
        frame = frames(self.normal)[:, None]
        arms = self.reach[:, :, None] * [[1.0], [-1.0]] * self.normal[:, None]
        G = np.empty((self.n_contacts, 2, 3, 6))
        G[..., :3] = scale[:, :, :1, None] * frame
        G[..., 3:] = scale[:, :, 1:, None] * np.cross(arms[:, :, None, :], frame)
        return G

    @cached_property
    def y_free(self) -> Array:
        """Velocities without impulses in units of unit mass, (n_bodies + 1, 6)."""
        y = np.zeros((len(self.x_free), 6))
        y[:-1] = self.x_free[:-1, :6] / self._scale
        return y

    @cached_property
    def root(self) -> Array:
        """Inverse roots R of the masses, v = R y: y is in the world, v in the frames of the bodies."""
        roots = np.asarray(self._scale[:, :, None] * np.eye(6))
        if self.orientation is not None:
            for k in range(3):
                spin = np.zeros((self.n_bodies, 6))
                spin[:, 3 + k] = 1.0
                spins_in_body_frames(self.orientation, spin)
                roots[:, 3:, 3 + k] = self._scale[:, 3:] * spin[:, 3:]
        return roots

    # ----------------------------------------------------------------

    @property
    def _scale(self) -> Array:
        return np.repeat(np.sqrt(self.x_free[:-1, 6:]), 3, axis=1)

    def _under(self, r: Array) -> Array:
        """The rows of the bodies under the impulses r, kept for whoever asks next."""
        if len(r) > MOST_KEPT:
            return self.moved(r)
        if self._last is None or not are_equal(self._last[0], r):
            kept = np.empty_like(r)
            self.__dict__["_last"] = kept, self._add_impulses(self.x_free, r, kept)
        assert self._last is not None
        return self._last[1]

    def _add_impulses(self, start: Array, r: Array, kept: Array | None = None) -> Array:
        """Rows of the bodies after the impulses r; ``kept`` (n, 3) gets a copy of these."""
        x, other = np.empty_like(start), np.empty((len(start), 6))
        arguments = self.normal, self.reach, self.bodies, r, start
        copied = np.empty((0, 3)) if kept is None else kept
        launch(self._threads, push, *arguments, copied, other, x)
        return x

    def at_contacts(self, x: Array, w: Array | None) -> Array:
        """Velocities at the contacts of bodies with these rows."""
        u = np.empty_like(self.normal)
        arguments = self.normal, self.reach, self.bodies, x, imposed(w)
        launch(self._threads, contact_velocities, *arguments, u)
        return u

    @cached_property
    def _threads(self) -> int:
        """Number of threads, computed once: a step makes tens of passes, and asking Numba is slow."""
        return thread_count(None, self.n_contacts, max(1, self.n_contacts // STRIDE))


def imposed(w: Array | None) -> Array:
    """Imposed velocities w in the form kernels take: no rows if they are zero."""
    return np.empty((0, 3)) if w is None else w


@inlined
def in_frame(normal: Array, i: int, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Components along the normal and tangents of contact i of a vector in world coordinates."""
    n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
    s_x, s_y, s_z, t_x, t_y, t_z = tangents(n_x, n_y, n_z)
    return n_x * x + n_y * y + n_z * z, s_x * x + s_y * y + s_z * z, t_x * x + t_y * y + t_z * z


@inlined
def in_world(normal: Array, i: int, r_n: float, r_s: float, r_t: float) -> tuple[float, float, float]:
    """World coordinates of a vector with components along the normal and tangents of contact i."""
    n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
    s_x, s_y, s_z, t_x, t_y, t_z = tangents(n_x, n_y, n_z)
    return (
        n_x * r_n + s_x * r_s + t_x * r_t,
        n_y * r_n + s_y * r_s + t_y * r_t,
        n_z * r_n + s_z * r_s + t_z * r_t,
    )


@inlined
def contact_velocity(
    normal: Array, reach: Array, bodies: Indices, x: Array, w: Array, i: int
) -> tuple[float, float, float]:
    """Velocity u of contact i along its normal and tangents."""
    a, b, rho_a, rho_b = bodies[i, 0], bodies[i, 1], reach[i, 0], reach[i, 1]
    n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
    z_x = rho_a * x[a, 3] + rho_b * x[b, 3]
    z_y = rho_a * x[a, 4] + rho_b * x[b, 4]
    z_z = rho_a * x[a, 5] + rho_b * x[b, 5]
    d_x = x[b, 0] - x[a, 0] - (z_y * n_z - z_z * n_y)
    d_y = x[b, 1] - x[a, 1] - (z_z * n_x - z_x * n_z)
    d_z = x[b, 2] - x[a, 2] - (z_x * n_y - z_y * n_x)
    u_n, u_s, u_t = in_frame(normal, i, d_x, d_y, d_z)
    if len(w) == 0:
        return u_n, u_s, u_t
    return w[i, 0] + u_n, w[i, 1] + u_s, w[i, 2] + u_t


@kernel
def contact_velocities(
    worker: Worker, normal: Array, reach: Array, bodies: Indices, x: Array, w: Array, u: Array
) -> None:
    """One thread's part of the velocities at the contacts."""
    first, last = chunk(worker, len(normal))
    for i in range(first, last):
        prefetch_bodies(x, bodies, i)
        u[i, 0], u[i, 1], u[i, 2] = contact_velocity(normal, reach, bodies, x, w, i)


@kernel
def sizes_of_velocities(
    worker: Worker, normal: Array, reach: Array, bodies: Indices, x: Array, w: Array, sizes: Array
) -> None:
    """One thread's part of the squares of velocities, and of their largest entries, by strides."""
    first, last = chunk(worker, len(sizes))
    for stride in range(first, last):
        total, largest = 0.0, 0.0
        for i in range(stride * STRIDE, min((stride + 1) * STRIDE, len(normal))):
            prefetch_bodies(x, bodies, i)
            u_n, u_s, u_t = contact_velocity(normal, reach, bodies, x, w, i)
            total += u_n * u_n + u_s * u_s + u_t * u_t
            largest = max(largest, abs(u_n), abs(u_s), abs(u_t))
        sizes[stride, 0], sizes[stride, 1] = total, largest


@kernel
def push(
    worker: Worker,
    normal: Array,
    reach: Array,
    bodies: Indices,
    r: Array,
    start: Array,
    kept: Array,
    other: Array,
    x: Array,
) -> None:
    """One thread's part of the rows x (N, 8): ``start`` plus the effect of the impulses r.

    Where ``kept`` has rows, r is copied there.

    Impulses and moments are summed first, those of half of the contacts in x and those of the other half
    in ``other`` (N, 6): the result is bitwise the same for any number of threads.
    """
    n = len(normal)
    first, last = chunk(worker, 2)
    for half in range(first, last):
        sums = x if half == 0 else other
        for body in range(len(sums)):
            for k in range(6):
                sums[body, k] = 0.0
        for i in range(n * half // 2, n * (half + 1) // 2):
            prefetch_bodies(sums, bodies, i)
            a, b = bodies[i, 0], bodies[i, 1]
            r_n, r_s, r_t = r[i, 0], r[i, 1], r[i, 2]
            if len(kept) > 0:
                kept[i, 0], kept[i, 1], kept[i, 2] = r_n, r_s, r_t
            f_x, f_y, f_z = in_world(normal, i, r_n, r_s, r_t)
            n_x, n_y, n_z = normal[i, 0], normal[i, 1], normal[i, 2]
            g_x, g_y, g_z = n_y * f_z - n_z * f_y, n_z * f_x - n_x * f_z, n_x * f_y - n_y * f_x
            add(sums, a, -f_x, -f_y, -f_z, -reach[i, 0], g_x, g_y, g_z)
            add(sums, b, f_x, f_y, f_z, -reach[i, 1], g_x, g_y, g_z)
    wait(worker)
    first, last = chunk(worker, len(x))
    for body in range(first, last):
        for k in range(6):
            sum_ = x[body, k] + other[body, k]
            x[body, k] = start[body, k] + sum_ * start[body, 6 if k < 3 else 7]
        x[body, 6], x[body, 7] = start[body, 6], start[body, 7]


@inlined
def add(
    sums: Array, body: int, x: float, y: float, z: float, rho: float, g_x: float, g_y: float, g_z: float
) -> None:
    """Add an impulse (x, y, z) and the moment ρ g to the sums of a body."""
    sums[body, 0] += x
    sums[body, 1] += y
    sums[body, 2] += z
    sums[body, 3] += rho * g_x
    sums[body, 4] += rho * g_y
    sums[body, 5] += rho * g_z


@inlined
def diagonal(reach: Array, bodies: Indices, x: Array, i: int) -> tuple[float, float]:
    """W_ii along the normal, Σ 1/m over both bodies, and along any tangent, Σ 1/m + ρ²/J."""
    a, b = bodies[i, 0], bodies[i, 1]
    along = x[a, 6] + x[b, 6]
    return along, along + reach[i, 0] ** 2 * x[a, 7] + reach[i, 1] ** 2 * x[b, 7]


@kernel
def fill_velocities_of_bodies(worker: Worker, rows: Array, orientation: Array, v: Array) -> None:
    """One thread's part of the velocities (n_bodies, 6), spins in body frames where these are known."""
    first, last = chunk(worker, len(v))
    for i in range(first, last):
        x, y, z = rows[i, 3], rows[i, 4], rows[i, 5]
        if len(orientation) > 0:
            x, y, z = rotate_back(orientation[i], x, y, z)
        v[i, 0], v[i, 1], v[i, 2] = rows[i, 0], rows[i, 1], rows[i, 2]
        v[i, 3], v[i, 4], v[i, 5] = x, y, z


@inlined
def mean_response(reach: Array, bodies: Indices, x: Array, i: int) -> float:
    """trace(W_ii)/3."""
    along, across = diagonal(reach, bodies, x, i)
    return (along + 2.0 * across) / 3.0


class Extremes(NamedTuple):
    """Largest components of the velocities and of the spins of bodies without impulses, longest distance.

    ``flaws`` is not zero if a number is not finite.
    """

    speed: float
    spin: float
    longest: float
    flaws: float

    @staticmethod
    def of(found: Array) -> Extremes:
        """Those of all threads, which each have a row."""
        return Extremes(*found.max(axis=0).tolist())


@kernel
def find_extremes(worker: Worker, normal: Array, reach: Array, x: Array, found: Array) -> None:
    """One thread's part of the extremes, in its row of ``found``."""
    speed, spin, longest, flaws = 0.0, 0.0, 0.0, 0
    first, last = chunk(worker, len(x))
    for body in range(first, last):
        for k in range(3):
            speed, spin = max(speed, abs(x[body, k])), max(spin, abs(x[body, 3 + k]))
        for k in range(ROW):
            flaws += not np.isfinite(x[body, k])
    first, last = chunk(worker, len(reach))
    for i in range(first, last):
        for k in range(2):
            longest = max(longest, abs(reach[i, k]))
            flaws += not np.isfinite(reach[i, k])
        for k in range(3):
            flaws += not np.isfinite(normal[i, k])
    row = found[worker.rank]
    row[SPEED], row[SPIN], row[LONGEST], row[FLAWS] = speed, spin, longest, flaws


@kernel
def fill_responses(worker: Worker, reach: Array, bodies: Indices, x: Array, response: Array) -> None:
    """One thread's part of trace(W_ii)/3."""
    first, last = chunk(worker, len(reach))
    for i in range(first, last):
        response[i] = mean_response(reach, bodies, x, i)


@kernel
def violation_squares(
    worker: Worker,
    normal: Array,
    reach: Array,
    bodies: Indices,
    x: Array,
    w: Array,
    r: Array,
    mu: Array,
    response: Array,
    squares: Array,
) -> None:
    """One thread's part of the squared violation, and of its squared rounding error, by strides."""
    first, last = chunk(worker, len(squares))
    for stride in range(first, last):
        total, hidden = 0.0, 0.0
        for i in range(stride * STRIDE, min((stride + 1) * STRIDE, len(r))):
            prefetch_bodies(x, bodies, i)
            u_n, u_s, u_t = contact_velocity(normal, reach, bodies, x, w, i)
            r_n, r_s, r_t, size = r[i, 0], r[i, 1], r[i, 2], response[i]
            total += violation_square(u_n, u_s, u_t, r_n, r_s, r_t, mu[i], size)
            hidden += size * size * (r_n * r_n + r_s * r_s + r_t * r_t)
        squares[stride, 0] = total
        squares[stride, 1] = hidden
