"""Compiled sums and pieces of meshes beside the same by SciPy's sparse matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from clapas.bodies.elastic.pattern import Pattern
from clapas.bodies.elastic.pieces import pieces

TRIANGLES = np.array([[0, 1, 4], [7, 8, 6]])
SQUARES = np.array([[1, 2, 3, 4], [9, 2, 1, 10]])
N_NODES = 12  # nodes 5 and 11 belong to no cell


@pytest.mark.parametrize("d", [1, 2, 3])
def test_cells_of_two_kinds_are_summed_as_a_sparse_matrix_of_all_entries(d: int) -> None:
    generator = np.random.default_rng(3)
    rows, columns, values = [], [], []
    for cells in (TRIANGLES, SQUARES):
        dofs = (d * cells[:, :, None] + np.arange(d)).reshape(len(cells), -1)
        k = dofs.shape[1]
        rows.append(np.repeat(dofs, k, axis=1).ravel())
        columns.append(np.tile(dofs, (1, k)).ravel())
        values.append(generator.normal(size=len(cells) * k * k))
    places = (np.concatenate(rows), np.concatenate(columns))
    entries = np.concatenate(values)
    expected = sparse.coo_array((entries, places), shape=(d * N_NODES, d * N_NODES)).toarray()
    found = Pattern([TRIANGLES, SQUARES], N_NODES, d).matrix(entries)
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=1e-15)


def test_pieces_are_the_connected_components_numbered_by_their_lowest_nodes() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        cells = generator.integers(0, 40, size=(12, 3))
        a, b = np.repeat(cells[:, 0], 2), cells[:, 1:].ravel()
        graph = sparse.coo_array((np.ones(len(a)), (a, b)), shape=(40, 40))
        expected = csgraph.connected_components(graph, directed=False)[1]
        np.testing.assert_array_equal(pieces([cells], 40), expected)
