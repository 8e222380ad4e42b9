"""Where blocked sweeps store contacts: numbering, and the memory of the last layout."""

from __future__ import annotations

import numpy as np

from clapas.problems.gallery import sphere_packing
from clapas.solvers.nsgs.layout import BlockLayout, arrange
from clapas.solvers.nsgs.slabs import cuthill_mckee
from clapas.solvers.nsgs.structure import body_contacts

CONTACTS = body_contacts(sphere_packing(600, seed=3).problem)


def test_numbers_are_a_permutation_whatever_the_graph() -> None:
    rng = np.random.default_rng(0)
    for n_nodes, n_edges in [(0, 0), (1, 0), (5, 0), (7, 40), (50, 60)]:
        a, b = rng.integers(0, max(n_nodes, 1) + 1, (2, n_edges))  # loops, repetitions, edges to the ground
        number = cuthill_mckee(n_nodes, a, b)
        assert sorted(number.tolist()) == list(range(n_nodes))


def test_a_shuffled_chain_is_put_in_line_again() -> None:
    order = np.random.default_rng(1).permutation(100)
    number = cuthill_mckee(100, order[:-1], order[1:])
    assert np.abs(np.diff(number[order])).tolist() == [1] * 99


def test_each_contact_is_stored_once() -> None:
    assert CONTACTS is not None
    stored = arrange(CONTACTS.bodies, CONTACTS.n_bodies).contacts
    assert sorted(stored[stored >= 0].tolist()) == list(range(len(CONTACTS.bodies)))


def test_the_last_arrangement_is_used_for_the_same_contacts_only() -> None:
    assert CONTACTS is not None
    bodies, n_bodies = CONTACTS.bodies.copy(), CONTACTS.n_bodies
    layout = BlockLayout()
    first = layout(bodies, n_bodies)
    assert layout(bodies.copy(), n_bodies) is first
    bodies[0] = bodies[0][::-1]  # in place: the memory must not follow
    changed = layout(bodies, n_bodies)
    assert changed is not first
    fresh = arrange(bodies, n_bodies)
    for name in ("place", "contacts", "bodies", "number", "bounds"):
        np.testing.assert_array_equal(getattr(changed, name), getattr(fresh, name))
