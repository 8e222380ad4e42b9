"""Random contact problems of every shape, for properties and cross-checks."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.problems import ContactProblem


def random_global(
    seed: int, n: int = 6, bodies: int = 4, d: int = 3, size: int | None = None
) -> ContactProblem:
    """Contacts between random pairs of bodies (or a body and the ground), full mass blocks."""
    rng = np.random.default_rng(seed)
    size = size or {2: 3, 3: 6}[d]
    blocks = []
    for _ in range(bodies):
        A = rng.normal(size=(size, size))
        blocks.append(A @ A.T + size * np.eye(size))
    H = np.zeros((n * d, bodies * size))
    for i in range(n):
        a, b = rng.integers(bodies), rng.integers(bodies + 1)
        for body in {int(a), int(b)} - {bodies}:
            H[i * d : (i + 1) * d, body * size : (body + 1) * size] = rng.normal(size=(d, size))
    return ContactProblem(
        M=sparse.block_diag(blocks, format="csr"),
        H=sparse.csr_array(H),
        f=rng.normal(size=bodies * size),
        w=0.1 * rng.normal(size=(n, d)),
        mu=rng.uniform(0, 1, n) * (rng.random(n) > 0.2),
        d=d,
    )


def random_block(rng: np.random.Generator, d: int, rank: int | None = None) -> np.ndarray:
    """A random symmetric positive (semi)definite d×d block with a normal response."""
    A = rng.normal(size=(d, rank or d))
    A[0] += np.sign(A[0]) * 0.1
    return A @ A.T


def particle(mu: float = 0.5, speed: float = 1.0) -> ContactProblem:
    """A 1 kg particle sliding on the floor during 10 ms."""
    return ContactProblem(W=np.eye(3), q=[[-0.0981, speed, 0.0]], mu=mu)
