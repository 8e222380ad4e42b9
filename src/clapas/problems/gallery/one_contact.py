"""Problems with one contact: each branch of Coulomb's law, and the limit cases.

In the plane all solutions are known in closed form; see :func:`plane_solutions`. The three-dimensional
cases take W = λ I, where normal and tangential responses are uncoupled: r_N = max(0, −q_N) / λ, then
r_T is −q_T / λ cut at the length mu r_N. These problems have exactly one solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import Continuum, GalleryProblem, Known, among, in_cones, only
from clapas.typing import Array


def plane_solutions(W: npt.ArrayLike, q: npt.ArrayLike, mu: float) -> tuple[Array, ...]:
    """All solutions of a contact in the plane, by trying take-off, sticking and both directions of sliding.

        take-off   r = 0                          needs q_N ≥ 0
        sticking   r = −W⁻¹ q                     needs r in the cone
        sliding    r = r_N (1, −ε mu), ε = ±1,    r_N = −q_N / (W_NN − ε mu W_NT) > 0, ε u_T > 0

    Parameters
    ----------
    W : array (2, 2)
        Positive definite; normal component first.
    q : array (2,)
        Free velocity.
    mu : float
        Coefficient of friction.

    Returns
    -------
    tuple of arrays (1, 2)
        The solutions, all of them if W_NN ≠ mu |W_NT|; for W_NN = mu |W_NT| and q_N = 0 the edge of the cone
        may hold a continuum, of which only r = 0 is returned.

    Examples
    --------
    >>> [r.round(3).tolist() for r in plane_solutions([[1, 0.8], [0.8, 1]], [0.1, 0.5], mu=2.0)]
    [[[0.0, 0.0]], [[0.833, -1.167]], [[0.167, -0.333]]]
    """
    W, q = np.asarray(W, dtype=float), np.asarray(q, dtype=float)
    solutions: list[Array] = []
    for r in _branches(W, q, mu):
        if all(np.abs(r - other).max() > 1e-12 * np.abs(r).max(initial=1e-300) for other in solutions):
            solutions.append(r)
    return tuple(r.reshape(1, 2) for r in solutions)


def _branches(W: Array, q: Array, mu: float) -> Iterator[Array]:
    if q[0] >= 0:
        yield np.zeros(2)
    stick = np.asarray(np.linalg.solve(W, -q), dtype=float)
    if abs(stick[1]) <= mu * stick[0]:
        yield stick
    for sign in (1.0, -1.0):
        response = W[0, 0] - sign * mu * W[0, 1]
        if response == 0 or -q[0] / response <= 0:
            continue
        slide = -q[0] / response * np.array([1.0, -sign * mu])
        if sign * (W[1] @ slide + q[1]) > 0:
            yield slide


def _particle(name: str, q: list[float], mu: float, r: list[float], description: str) -> GalleryProblem:
    """A particle of unit mass on a plane: W = I, exactly one solution."""
    problem = ContactProblem(W=np.eye(3), q=[q], mu=[mu], name=name)
    return GalleryProblem(name=name, problem=problem, reference="", description=description, known=only([r]))


def _coupled(name: str) -> GalleryProblem:
    """Sliding with a full Delassus block; q follows from the solution, q = u − W r."""
    W = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])
    mu = 0.4
    u = np.array([0.0, 0.6, -0.8])
    r = np.array([1.0, -0.6 * mu, 0.8 * mu])
    problem = ContactProblem(W=W, q=[u - W @ r], mu=[mu], name=name)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="",
        description="A body slides on one contact away from its centre: normal and friction forces mix.",
        known=among([r]),
    )


def _frictionless(name: str) -> GalleryProblem:
    W = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = ContactProblem(W=W, q=[[-1.0, 2.0, 0.0]], mu=[0.0], name=name)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="",
        description="A body lands on ice: the impulse is normal whatever the tangential velocity.",
        known=only([[0.5, 0.0, 0.0]]),
    )


def _singular(name: str) -> GalleryProblem:
    """One degree of freedom against three components: W = h hᵀ has rank one."""
    h = np.array([1.0, 0.5, 0.0])
    mu = 0.5
    problem = ContactProblem(M=[[1.0]], H=h[:, None], f=[1.0], w=np.zeros((1, 3)), mu=[mu], name=name)

    def contains(r: Array, slack: float) -> bool:
        return in_cones(r, mu, slack) and abs(float(h @ r[0]) - 1.0) <= slack

    # h·r = 1 on the rays of the cone: its extreme directions, and its axis.
    angles = np.linspace(0.0, 2.0 * np.pi, 5)[:-1]
    edge = np.column_stack((np.ones(4), mu * np.cos(angles), mu * np.sin(angles)))
    rays = np.vstack((edge, [[1.0, 0.0, 0.0]]))
    samples = tuple((ray / (h @ ray))[None] for ray in rays)
    continuum = Continuum(
        description="every r in the cone with r_N + r_T1 / 2 = 1", samples=samples, contains=contains
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="",
        description="A bar in a straight guide runs obliquely into a rough wall and stops.",
        known=Known(exists=True, continuum=continuum, complete=True),
    )


def _no_contact(name: str) -> GalleryProblem:
    problem = ContactProblem(M=np.eye(6), H=np.zeros((0, 6)), f=np.ones(6), mu=np.zeros(0), d=3, name=name)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 1.4.2",
        description="A body flies freely and touches nothing.",
        known=only(np.zeros((0, 3))),
    )


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """One-contact problems by name."""
    particles: dict[str, tuple[list[float], float, list[float], str]] = {
        "one-open": ([1.0, 0.3, 0.0], 0.5, [0, 0, 0], "A particle leaves the floor."),
        "one-stick": ([-1.0, 0.3, 0.1], 0.5, [1.0, -0.3, -0.1], "A particle lands and stops."),
        "one-slide": ([-1.0, 1.2, -1.6], 0.5, [1.0, -0.3, 0.4], "A particle lands and slides on."),
        "one-grazing": ([0.0, 1.0, 0.0], 0.5, [0, 0, 0], "A particle skims the floor without weight."),
        "one-at-rest": (
            [0.0, 0.0, 0.0],
            0.5,
            [0, 0, 0],
            "A weightless particle rests: the free velocity is 0.",
        ),
        "one-cone-edge": (
            [-1.0, 0.5, 0.0],
            0.5,
            [1.0, -0.5, 0.0],
            "A particle lands and stops with nothing to spare: the impulse is on the edge of the cone.",
        ),
        "one-huge-friction": (
            [-1.0, 30.0, 40.0],
            1e6,
            [1.0, -30.0, -40.0],
            "A fast particle hits a floor too rough to slip on.",
        ),
    }
    entries: dict[str, Callable[[], GalleryProblem]] = {
        name: partial(_particle, name, q, mu, r, text) for name, (q, mu, r, text) in particles.items()
    }
    others: dict[str, Callable[[str], GalleryProblem]] = {
        "one-slide-coupled": _coupled,
        "one-no-friction": _frictionless,
        "one-singular-block": _singular,
        "no-contact": _no_contact,
    }
    return entries | {name: partial(build, name) for name, build in others.items()}
