"""Random problems after Cadoux: subsystems with random masses, joined by random contacts.

The family is published, its instances are not. Choices made here where the source does not specify:

* mass blocks are Q Λ Qᵀ, Q uniform among rotations and reflections, Λ log-uniform between its ends
  condition^(−½) and condition^(½), which are both attained, so that the condition number is exact;
* a contact joins two different subsystems, all pairs being equally likely, with repetition; there is no
  outside body. (The published densities of W are those of this choice.) A single subsystem meets the
  outside world;
* the blocks of H, w and f are standard Gaussian numbers; normals are uniform on the sphere, completed to
  a frame, and H and w are rotated into it. The Gaussian distribution is invariant under the rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import EXISTS, GalleryProblem, Known
from clapas.problems.gallery.rigid import contact_frames
from clapas.typing import Array, Indices

FRICTION = (0.2, 0.8)

# m_ss, n_ss, n of the published instances (Cadoux 2009, tables 5.1 and 5.2).
SMALL = [(6, 7 + k, 5 + 3 * k) for k in range(15)]
LARGE = [
    (m_ss, n_ss, 100 * (k + 1))
    for m_ss, sizes in {
        6: (125, 167, 187, 200, 208),
        15: (50, 67, 75, 80, 83),
        36: (21, 28, 31, 33, 35),
    }.items()
    for k, n_ss in enumerate(sizes)
]


def alea(
    m_ss: int, n_ss: int, n: int, *, condition: float = 1000.0, d: int = 3, seed: int = 0, name: str = ""
) -> ContactProblem:
    """Draw a random contact problem: n contacts between n_ss subsystems of m_ss degrees of freedom.

    The harder the larger n d / m is, m = m_ss n_ss: from 1 on, W is singular and nothing guarantees that a
    solution exists.

    Parameters
    ----------
    m_ss : int
        Degrees of freedom of a subsystem.
    n_ss : int
        Number of subsystems.
    n : int
        Number of contacts.
    condition : float
        Condition number of each mass block, ≥ 1. Not published: with 1000 the condition numbers of W lie in
        the published decades, but scatter widely (medians of 20 draws are 0.04 to 380 times the published
        ones), and singular W occur at smaller sizes than published.
    d : 2 or 3
        Dimension.
    seed : int
        Seed of NumPy's PCG64 generator; the same seed gives the same problem.
    name : str
        Name of the problem; "alea-m-n" unless given.

    References
    ----------
    Cadoux 2009, 5.1.2.

    Examples
    --------
    >>> alea(6, 7, 5, seed=1)
    ContactProblem('alea-42-5', 5 contacts in 3-D, global, 42 dof)
    """
    if m_ss < 1 or n_ss < 1 or n < 0:
        raise ProblemError(f"m_ss and n_ss must be at least 1 and n at least 0, got {m_ss}, {n_ss}, {n}")
    if not condition >= 1:
        raise ProblemError(f"condition must be at least 1, got {condition}")
    random = np.random.Generator(np.random.PCG64(seed))
    mass_blocks = _mass_blocks(random, m_ss, n_ss, condition)
    f = random.standard_normal(m_ss * n_ss)
    bodies = _pairs(random, n_ss, n)
    blocks = random.standard_normal((n, bodies.shape[1], d, m_ss))
    w = random.standard_normal((n, d))
    normals = random.standard_normal((n, d))
    frames = contact_frames(normals / np.linalg.norm(normals, axis=1, keepdims=True))
    mu = random.uniform(*FRICTION, n)
    return ContactProblem(
        M=sparse.block_diag(mass_blocks, format="csr"),
        H=_jacobian(np.einsum("nij,nbjk->nibk", frames, blocks), bodies, m_ss * n_ss),
        f=f,
        w=np.einsum("nij,nj->ni", frames, w),
        mu=mu,
        d=d,
        name=name or f"alea-{m_ss * n_ss}-{n}",
    )


def _mass_blocks(random: np.random.Generator, size: int, count: int, condition: float) -> Array:
    Q = np.linalg.qr(random.standard_normal((count, size, size)))[0]
    exponents = random.uniform(-0.5, 0.5, (count, size))
    if size > 1:
        exponents[:, :2] = [-0.5, 0.5]
    blocks = (Q * condition ** exponents[:, None, :]) @ Q.transpose(0, 2, 1)
    return np.asarray(0.5 * (blocks + blocks.transpose(0, 2, 1)))


def _pairs(random: np.random.Generator, n_ss: int, n: int) -> Indices:
    """Two different subsystems per contact, the smaller index first; (n, 2), or (n, 1) if there is one."""
    first = random.integers(n_ss, size=n)
    if n_ss == 1:
        return first[:, None]
    second = (first + random.integers(1, n_ss, size=n)) % n_ss
    return np.sort(np.column_stack((first, second)), axis=1)


def _jacobian(rows: Array, bodies: Indices, n_dof: int) -> sparse.csr_array:
    """H from its rows (n, d, bodies, m_ss)."""
    n, d, per_contact, m_ss = rows.shape
    columns = bodies[:, None, :, None] * m_ss + np.arange(m_ss)
    indices = np.broadcast_to(columns, rows.shape).astype(np.int32).ravel()
    indptr = np.arange(n * d + 1, dtype=np.int32) * (per_contact * m_ss)
    return sparse.csr_array((rows.ravel(), indices, indptr), shape=(n * d, n_dof))


def _entry(m_ss: int, n_ss: int, n: int, name: str) -> GalleryProblem:
    problem = alea(m_ss, n_ss, n, name=name, seed=n)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 5.1.2",
        description=f"{n} random contacts between {n_ss} random systems of {m_ss} degrees of freedom.",
        known=EXISTS if _has_full_row_rank(problem) else Known(),
    )


def _has_full_row_rank(problem: ContactProblem) -> bool:
    """Whether H is onto: every contact velocity can be reached, so a solution exists (Cadoux 2009, 3.4.8)."""
    rows, columns = problem.H.shape
    if rows > columns:
        return False
    G = (problem.H @ problem.H.T).toarray()
    try:
        pivots = np.diag(np.linalg.cholesky(G)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > 1e-10 * pivots.max())


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """The published sizes; in the large table two sizes share a name, so it carries m_ss too."""
    named = {f"alea-{m_ss * n_ss}-{n}": (m_ss, n_ss, n) for m_ss, n_ss, n in SMALL}
    named |= {f"alea-{m_ss * n_ss}-{n}-by-{m_ss}": (m_ss, n_ss, n) for m_ss, n_ss, n in LARGE}
    return {name: partial(_entry, *sizes, name) for name, sizes in named.items()}
