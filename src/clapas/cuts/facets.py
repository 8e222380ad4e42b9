"""Decomposition of the deepest cut: extreme points of the reverse polar whose convex hull contains it.

The deepest cut (largest Euclidean distance of its hyperplane from the point) is the projection d* of the
origin on Q⁻, and as a rule it exposes no facet of Q. Extreme points of Q⁻ do (Cadoux 2009, theorem 6.6), and
if d* is a convex combination of some, these together imply it. Wolfe's method finds both: each major cycle is
a linear program over Q⁻.

Q⁻ is unbounded, and d* may need its rays. Three options:

* a normalisation, Σu_0 + λ_0 + Σu_1 + λ_1 ≤ N = factor·N_0, N_0 that of the intersection cut. Pieces on it
  are rays cut off somewhere, not facets: :func:`~clapas.cuts.faces.exposed_face` says which;
* ``factor=inf``: the oracle returns rays as such, d* = Σ w_i d_i + Σ l_j r_j. Rays are valid inequalities
  r·(x − x̄) ≤ 0 which the point satisfies with equality, and no cuts;
* first d* by quadratic programming, then its decomposition on the face d·d* ≤ |d*|² of Q⁻
  (``start="quadratic"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.convex.min_norm_point import Extreme, MinNormPoint, min_norm_point_of
from clapas.cuts.cut import Cut, combined
from clapas.cuts.deepest import deepest_cut
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.intersection import Basis, intersection_cut, least_normalisation
from clapas.cuts.most_violated import most_violated_cut
from clapas.cuts.program import CutProgram
from clapas.errors import SettingsError
from clapas.typing import Array

TOLERANCE = 1e-11  # of Wolfe's method
ON_FACE = 1e-9  # d·d* may exceed |d*|² by this share: the quadratic program is not exact


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a decomposition.

    Parameters
    ----------
    cut : Cut
        An extreme point of Q⁻ (truncated by the normalisation), or the direction of a ray.
    weight : float
        Its share of the deepest cut.
    is_ray : bool
        Whether it is a ray, the inequality cut.d·(x − x̄) ≤ 0, and not a cut.
    """

    cut: Cut
    weight: float
    is_ray: bool


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The deepest cut of a disjunction and the cuts that imply it.

    Parameters
    ----------
    disjunction : Disjunction
        The disjunction.
    deepest : Cut
        d* = Σ w_i d_i.
    pieces : tuple of Piece
        The decomposition.
    N : float
        The normalisation.
    calls : int
        Linear programs solved for the decomposition (the start not counted).
    gap : float
        |d − d*|² is at most this, by the last linear program.
    """

    disjunction: Disjunction
    deepest: Cut
    pieces: tuple[Piece, ...]
    N: float
    calls: int
    gap: float

    @property
    def cuts(self) -> list[Cut]:
        """The pieces that are cuts."""
        return [piece.cut for piece in self.pieces if not piece.is_ray]


def decompose(
    disjunction: Disjunction,
    *,
    factor: float = 10.0,
    start: Literal["violated", "intersection", "quadratic"] = "violated",
    basis: Basis | None = None,
    max_calls: int = 10_000,
) -> Decomposition:
    """Decompose the deepest cut of a disjunction into extreme points of its reverse polar.

    Parameters
    ----------
    disjunction : Disjunction
        Seen from a vertex.
    factor : float
        The normalisation is N = factor·N_0. 1, as printed, leaves little of Q⁻; from 3 on the counts hardly
        change. Infinite: no normalisation, and rays as pieces.
    start : "violated", "intersection" or "quadratic"
        First point of Wolfe's method: the most violated cut brought to violation one, the intersection cut,
        or d* itself by quadratic programming, after which the linear programs only decompose it.
    basis : Basis, optional
        The vertex, see :class:`~clapas.cuts.intersection.Basis`.
    max_calls : int
        Linear programs allowed. If they run out, the pieces are still valid cuts, and ``gap`` bounds the
        distance of their combination to the deepest.

    References
    ----------
    Cadoux 2009, 7.1 and 7.3.

    Examples
    --------
    >>> A, b = [[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [6.0, 0.0, 0.0, 0.0]
    >>> found = decompose(Disjunction.split(A, b, [1.0, 1.5], 1))
    >>> found.deepest.d.round(9) + 0.0, len(found.pieces)
    (array([0., 2.]), 1)
    """
    if not factor >= 1.0:
        raise SettingsError(f"factor must be at least 1 (the intersection cut must fit), got {factor}")
    N_0 = least_normalisation(disjunction, basis)
    N = factor * N_0
    if start == "quadratic":
        return _decompose_on_face(disjunction, N, max_calls)
    program = CutProgram(disjunction, N)
    if start == "violated":
        bounded_factor = min(factor, 10.0)  # without a bound a most violated cut need not exist
        first = most_violated_cut(disjunction, N=bounded_factor * N_0)
    else:
        first = intersection_cut(disjunction, basis)
    nearest = min_norm_point_of(program.oracle, first.d, tol=TOLERANCE, max_calls=max_calls)
    candidates = [first, *program.answers]
    cuts = [candidates[place] for place in nearest.places]
    return _decomposition(disjunction, cuts, nearest, N)


def _decompose_on_face(disjunction: Disjunction, N: float, max_calls: int) -> Decomposition:
    """Extreme points of the face of Q⁻ that d* exposes, until the hull of some contains d*."""
    deepest = deepest_cut(disjunction, N=N)
    program = CutProgram(disjunction, N)
    square = float(deepest.d @ deepest.d)
    on_face = sparse.csr_array(program.costs(deepest.d)[None, :])
    program = CutProgram(disjunction, N, (on_face, np.array([-np.inf]), np.array([square * (1.0 + ON_FACE)])))
    first, _ = program.solve(program.costs(np.random.default_rng(0).standard_normal(len(deepest.d))))

    def oracle(x: Array) -> Extreme:
        extreme = program.oracle(x)
        return extreme if extreme.is_ray else Extreme(extreme.value - deepest.d)

    nearest = min_norm_point_of(oracle, first.d - deepest.d, tol=TOLERANCE, max_calls=max_calls)
    candidates = [first, *program.answers]
    return _decomposition(disjunction, [candidates[place] for place in nearest.places], nearest, N)


def _decomposition(
    disjunction: Disjunction, cuts: list[Cut], nearest: MinNormPoint, N: float
) -> Decomposition:
    pieces = tuple(
        Piece(cut, float(weight), bool(is_ray))
        for cut, weight, is_ray in zip(cuts, nearest.weights, nearest.is_ray, strict=True)
    )
    return Decomposition(disjunction, combined(cuts, nearest.weights), pieces, N, nearest.calls, nearest.gap)
