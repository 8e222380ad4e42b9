"""Cuts of a disjunction: answers on paper, validity, and the theorems that bind the kinds together."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.cuts import (
    Basis,
    Cut,
    Disjunction,
    decompose,
    deepest_cut,
    exposed_face,
    hull_dimension,
    intersection_cut,
    least_normalisation,
    least_size,
    most_violated_cut,
)
from clapas.errors import ProblemError, SettingsError

from .families import branch_points, drawn, triangle

EVERY = {
    "intersection": intersection_cut,
    "violated": most_violated_cut,
    "deepest": deepest_cut,
    "decomposed": lambda disjunction: decompose(disjunction).deepest,
    "deepest-1": lambda disjunction: deepest_cut(disjunction, norm=1),
    "deepest-inf": lambda disjunction: deepest_cut(disjunction, norm=np.inf),
}


@pytest.mark.parametrize("kind", EVERY)
def test_on_paper(kind: str) -> None:
    """x₂ ≤ 1 is the only cut of the triangle: d = (0, 2), half a unit deep."""
    cut = EVERY[kind](triangle())
    np.testing.assert_allclose(cut.d, [0.0, 2.0], atol=1e-6)
    assert cut.right(triangle()) == pytest.approx(2.0)
    assert cut.depth == pytest.approx(0.5)


def test_normalisation_of_the_triangle() -> None:
    assert least_normalisation(triangle()) == pytest.approx(2.0)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("seed", range(3))
def test_valid_on_both_branches(kind: str, seed: int) -> None:
    disjunction = drawn(8, seed)
    cut = EVERY[kind](disjunction)
    assert cut.error(disjunction) < 1e-7
    points = branch_points(disjunction, 50)
    assert len(points) >= 50
    assert (points @ cut.d).max() <= -1.0 + 1e-6


def test_none_is_deeper_than_the_deepest() -> None:
    for seed in range(4):
        disjunction = drawn(10, seed)
        deepest = deepest_cut(disjunction)
        for cut in (intersection_cut(disjunction), *decompose(disjunction).cuts):
            assert cut.depth <= deepest.depth * (1.0 + 1e-9)
        for norm, dual in ((1, np.inf), (np.inf, 1)):
            own = np.linalg.norm(deepest_cut(disjunction, norm=norm).d, dual)
            assert own <= np.linalg.norm(deepest.d, dual) * (1.0 + 1e-9)


def test_the_deepest_cut_is_the_distance_to_the_hull() -> None:
    """q* = −d*/|d*|² is in Q and q*·x ≥ |q*|² on Q (6.10): checked on vertices of both branches."""
    disjunction = drawn(10, 1)
    d = deepest_cut(disjunction).d
    q = -d / (d @ d)
    assert (branch_points(disjunction, 100) @ q).min() >= q @ q - 1e-9
    face = exposed_face(disjunction, d)
    assert face.support == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.parametrize("start", ["violated", "intersection", "quadratic"])
@pytest.mark.parametrize("factor", [1.0, 10.0, 1e3])
def test_every_start_decomposes_the_same_cut(start: str, factor: float) -> None:
    disjunction = drawn(12, 0)
    found = decompose(disjunction, factor=factor, start=start)  # type: ignore[arg-type]
    reference = deepest_cut(disjunction, N=found.N)
    size = np.linalg.norm(reference.d)
    assert np.linalg.norm(found.deepest.d - reference.d) <= 1e-6 * size
    assert sum(piece.weight for piece in found.pieces) == pytest.approx(1.0)
    assert all(least_size(disjunction, piece.cut.d) <= found.N * (1.0 + 1e-6) for piece in found.pieces)


def test_without_normalisation_rays_are_pieces() -> None:
    """The same deepest cut; what lay on the normalisation becomes rays, which expose facets through x̄."""
    disjunction = drawn(12, 0)
    bounded, whole = decompose(disjunction), decompose(disjunction, factor=np.inf)
    np.testing.assert_allclose(whole.deepest.d, deepest_cut(disjunction).d, rtol=1e-7, atol=1e-9)
    truncated = sum(least_size(disjunction, piece.cut.d) > 0.999 * bounded.N for piece in bounded.pieces)
    assert truncated == sum(piece.is_ray for piece in whole.pieces) > 0
    hull = hull_dimension(disjunction)
    assert hull == 12
    faces = [exposed_face(disjunction, piece.cut.d, hull) for piece in whole.pieces]
    for piece, face in zip(whole.pieces, faces, strict=True):
        assert face.support == pytest.approx(0.0 if piece.is_ray else -1.0, abs=1e-9)
        assert face.is_facet or piece.is_ray  # a ray of the linear program need not be extreme as a cut
    assert sum(face.is_facet for face in faces) >= len(faces) - 1
    assert len(whole.cuts) == len(whole.pieces) - truncated


def test_truncated_pieces_expose_no_facet() -> None:
    """All but the facets lie on the normalisation and expose faces of dimension n − 2."""
    disjunction = drawn(12, 0)
    found = decompose(disjunction)
    for piece in found.pieces:
        face = exposed_face(disjunction, piece.cut.d, 12)
        on_normalisation = least_size(disjunction, piece.cut.d) > 0.999 * found.N
        assert face.support == pytest.approx(-1.0, abs=1e-7)
        assert face.dimension == (10 if on_normalisation else 11)


def test_pieces_imply_the_deepest_cut() -> None:
    """The relaxation with all pieces is inside that with the deepest cut."""
    found = decompose(drawn(15, 2))
    total = sum(piece.weight * piece.cut.d for piece in found.pieces)
    np.testing.assert_allclose(total, found.deepest.d, rtol=1e-9, atol=1e-12)
    assert found.gap <= 1e-6
    assert len(found.pieces) <= found.calls + 1


def test_a_degenerate_vertex() -> None:
    """The triangle with its rows twice, and one more through the top: any basis gives a valid cut."""
    A = np.array([[3.0, 2.0], [-3.0, 2.0], [3.0, 2.0], [-3.0, 2.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    b = np.array([6.0, 0.0, 6.0, 0.0, 1.5, 0.0, 0.0])
    disjunction = Disjunction.split(A, b, [1.0, 1.5], 1)
    for cut in (intersection_cut(disjunction), decompose(disjunction).deepest):
        np.testing.assert_allclose(cut.d, [0.0, 2.0], atol=1e-9)
    given = intersection_cut(disjunction, Basis.of(disjunction.A, np.array([0, 4])))
    assert given.error(disjunction) < 1e-12


def test_rows_of_very_different_sizes() -> None:
    disjunction = drawn(8, 0)
    scale = 10.0 ** np.linspace(-4, 4, len(disjunction.b))
    rows = disjunction.A.toarray() * scale[:, None]
    right = (disjunction.b + disjunction.A @ disjunction.point) * scale
    other = Disjunction.split(rows, right, disjunction.point, int(np.argmax(disjunction.normals[0])))
    np.testing.assert_allclose(deepest_cut(other).d, deepest_cut(disjunction).d, rtol=1e-5, atol=1e-6)


def test_no_vertex() -> None:
    """From the middle of a box only the deepest cut has a meaning, and from inside the hull there is none."""
    A, b = np.vstack((np.eye(2), -np.eye(2))), np.array([1.5, 1.0, 0.0, 0.0])
    beyond = Disjunction.split(A, b, [1.25, 0.5], 0)
    np.testing.assert_allclose(deepest_cut(beyond).d, [4.0, 0.0], atol=1e-6)
    with pytest.raises(ProblemError, match="the point is no vertex: 0 rows pass through it"):
        intersection_cut(beyond)
    inside = Disjunction.split(A, np.array([3.0, 1.0, 0.0, 0.0]), [1.25, 0.5], 0)
    for norm in (1, 2, np.inf):
        with pytest.raises(ProblemError, match="no cut separates the point from the disjunction"):
            deepest_cut(inside, norm=norm)


def test_faces_of_an_empty_branch() -> None:
    face = exposed_face(triangle(), np.array([0.0, 2.0]))
    assert (face.dimension, face.branches, face.hull, face.is_facet) == (1, (1, -1), 2, True)
    assert exposed_face(triangle(), np.array([1.0, 1.0])).dimension == 0


def test_a_cut_that_is_none_is_noticed() -> None:
    disjunction = triangle()
    cut = intersection_cut(disjunction)
    assert Cut(0.9 * cut.d, cut.u, cut.v).error(disjunction) > 0.05
    assert Cut(cut.d, -cut.u, cut.v).error(disjunction) > 0.1
    assert least_size(disjunction, 0.9 * cut.d) == np.inf


def test_slips() -> None:
    with pytest.raises(SettingsError, match="factor must be at least 1"):
        decompose(triangle(), factor=0.5)
    with pytest.raises(SettingsError, match="norm must be 1, 2 or inf, got 3"):
        deepest_cut(triangle(), norm=3)
    with pytest.raises(ProblemError, match=r"no multipliers with a sum up to N = 0\.1 give a cut"):
        most_violated_cut(triangle(), N=0.1)
