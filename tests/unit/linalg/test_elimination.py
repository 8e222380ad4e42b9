"""Order of elimination and fill, on graphs small enough to follow by hand."""

from __future__ import annotations

import numpy as np

from clapas.linalg import elimination


def test_unknowns_of_one_pattern_are_grouped():
    rows, columns = np.nonzero(np.kron(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]), np.ones((2, 2))))
    groups = elimination.same_pattern(rows, columns, 6)
    assert len(set(groups)) == 3
    assert (groups[::2] == groups[1::2]).all()


def test_elimination_tree_of_a_chain():
    # 0 - 1 - 2 - 3: each unknown is joined to the next one.
    indptr, indices = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 2])
    parent = elimination.elimination_tree(indptr, indices)
    assert parent.tolist() == [1, 2, 3, -1]
    assert elimination.postorder(parent).tolist() == [0, 1, 2, 3]
    pointers, structure = elimination.column_structures(indptr, indices, parent)
    assert pointers.tolist() == [0, 1, 2, 3, 3]
    assert structure.tolist() == [1, 2, 3]


def test_fill_of_a_star_eliminated_from_its_centre():
    # Unknown 0 joined to all others: eliminating it first joins them all.
    indptr, indices = np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0])
    parent = elimination.elimination_tree(indptr, indices)
    pointers, _ = elimination.column_structures(indptr, indices, parent)
    assert np.diff(pointers).tolist() == [3, 2, 1, 0]


def test_a_star_is_eliminated_from_its_leaves():
    # Small fronts are merged even where this stores zeros, hence groups of twelve.
    rows, columns = np.zeros(50, dtype=int), np.arange(1, 51)
    tree = elimination.fronts(rows, columns, np.arange(51))
    large = elimination.fronts(np.repeat(rows, 12) * 12, np.arange(12, 612), np.arange(612) // 12)
    assert elimination.entries(tree) <= 51**2
    assert elimination.entries(large) < 0.2 * 612**2


def test_children_come_before_parents_and_pass_their_border_on():
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 300, 900), rng.integers(0, 300, 900)
    tree = elimination.fronts(rows, columns, np.arange(300))
    for number, front in enumerate(tree):
        assert front.parent == -1 or front.parent > number
        if front.parent == -1:
            assert len(front.border) == 0
        else:
            above = tree[front.parent]
            assert set(front.border) <= set(above.pivots) | set(above.border)


def test_costs_of_one_full_front():
    rows, columns = np.nonzero(np.ones((6, 6)))
    tree = elimination.fronts(rows, columns, np.zeros(6, dtype=int))
    assert elimination.entries(tree) == 36
    assert elimination.flops(tree) == 2 / 3 * 6**3


def test_no_unknowns():
    empty = np.empty(0, dtype=int)
    assert elimination.fronts(empty, empty, empty) == []
