"""Trusses as people give them: sizes, laws, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.trusses import Group, Material, Section, Truss, Unstable, require_stable
from clapas.bodies.trusses.generators import grid, kite, module
from clapas.errors import ProblemError

STEEL = Material(young=200e9)
WIRE = Group(name="wire", kind="cable", material=STEEL, section=Section(area=1e-5))
BAR = Group(name="bar", kind="bar", material=STEEL, section=Section(area=1e-4))


def two_wires(**changes: object) -> Truss:
    fields: dict[str, object] = {
        "nodes": [[-1, 1], [1, 1], [0, 0]],
        "members": [[0, 2], [1, 2]],
        "groups": [WIRE, BAR],
        "group": [0, 0],
        "is_blocked": [[1, 1], [1, 1], [0, 0]],
        "cases": {"weight": [[0, 0], [0, 0], [0, -1]]},
    }
    return Truss(**(fields | changes))


def test_rest_lengths_give_the_prestress_back() -> None:
    truss = module()
    again = truss.with_(prestress=None).with_rest_lengths(truss.rest_lengths)
    np.testing.assert_allclose(again.prestress, truss.prestress, rtol=1e-9)


def test_elongations_are_those_of_moved_nodes() -> None:
    truss, small = kite(), 1e-7
    U = np.random.default_rng(1).standard_normal(truss.n_dof)
    moved = truss.nodes + small * truss.displacements(U)
    ends = moved[truss.members]
    change = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) - truss.lengths
    np.testing.assert_allclose(truss.B @ U, change / small, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"nodes": [[0, 0], [1, 1], [0, 0]]},
            "member 0 has no length: its ends 0 and 2 are at the same point",
        ),
        ({"members": [[0, 2], [2, 0], [1, 2]], "group": [0, 0, 1]}, "2 members join the nodes 0 and 2"),
        ({"members": [[0, 2]], "group": [0], "is_blocked": None}, "node 1 belongs to no member"),
        ({"prestress": [5.0, -1.0]}, "a cable of group 'wire' and would be in compression at rest"),
        ({"members": [[0, 2], [1, 7]]}, "names node 7, but the nodes are 0 to 2"),
        ({"group": [0, 4]}, "group numbers must lie between 0 and 1"),
        ({"prestress": [1.0]}, "prestress: 2 members need 2 values"),
        ({"prestress": [np.nan, 1.0]}, "must be finite"),
        ({"nodes": [[0.0, np.inf], [1, 1], [0, 0]]}, "must be finite"),
        ({"nodes": [1.0, 2.0]}, "2 or 3 coordinates"),
        ({"members": np.zeros((0, 2), dtype=int), "group": []}, "at least one member"),
        ({"members": [[0.5, 2.0], [1.0, 2.0]]}, "two node numbers"),
        ({"cases": {"wind": [[0, 0]]}}, "load case 'wind': 3 nodes need 3 rows"),
        ({"labels": ["a"]}, "3 nodes need 3 names"),
        ({"group": [1, 1], "prestress": [-1e9, 0.0]}, "exceeds E A"),
    ],
)
def test_impossible_structures_are_refused_with_the_way_out(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ProblemError, match=words.replace("(", r"\(")):
        two_wires(**changes)


def test_names_of_nodes_appear_in_messages() -> None:
    with pytest.raises(ProblemError, match="ends left and foot"):
        two_wires(nodes=[[0, 0], [1, 1], [0, 0]], labels=["left", "right", "foot"])


def test_parallel_members_are_accepted_when_meant() -> None:
    truss = two_wires(members=[[0, 2], [2, 0], [1, 2]], group=[0, 0, 0], allow_parallel=True)
    assert truss.n_members == 3


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ProblemError, match="no load case is called 'wind': the structure has 'weight'"):
        two_wires().load("wind")
    with pytest.raises(ProblemError, match="no group is called 'rope'"):
        two_wires().members_of("rope")
    with pytest.raises(ProblemError, match="young must be positive"):
        Material(young=-1.0)
    with pytest.raises(ProblemError, match="at most half the outer diameter"):
        Section.tube(diameter=0.1, thickness=0.06)
    with pytest.raises(ProblemError, match="rest lengths must be positive"):
        two_wires().with_rest_lengths([1.0, -1.0])


def test_a_self_stress_out_of_balance_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"not in equilibrium in the given shape: it leaves .* at node 2"):
        two_wires(prestress=[1.0, 2.0]).check_balance()


def test_a_mechanism_is_named_and_kept() -> None:
    square = Truss(
        nodes=[[0, 0], [1, 0], [1, 1], [0, 1]],
        members=[[1, 2], [2, 3], [3, 0]],
        groups=[BAR],
        group=[0, 0, 0],
        is_blocked=[[1, 1], [1, 1], [0, 0], [0, 0]],
    )
    with pytest.raises(
        Unstable, match="it has 1 mechanism and no prestress; the softest motion moves nodes 2, 3"
    ) as caught:
        require_stable(square)
    np.testing.assert_allclose(np.abs(caught.value.mechanism), [[0, 0], [0, 0], [1, 0], [1, 0]], atol=1e-9)
    with pytest.raises(Unstable, match="leave 3 rigid motions"):
        require_stable(
            square.with_(
                is_blocked=None, prestress=None, members=[[0, 1], [1, 2], [2, 3], [3, 0]], group=[0] * 4
            )
        )


def test_prestress_makes_a_supported_module_stable() -> None:
    blocked = np.zeros((8, 3), dtype=bool)
    blocked[:3] = True
    assert require_stable(module().with_(is_blocked=blocked)).is_stable
    with pytest.raises(Unstable, match="no prestress"):
        require_stable(module().with_(is_blocked=blocked, prestress=None))


def test_grids_refuse_no_modules() -> None:
    with pytest.raises(ProblemError, match="at least one module"):
        grid(0)


def test_the_weight_of_the_members_is_all_there() -> None:
    truss = grid(2)
    np.testing.assert_allclose(truss.self_weight().sum(axis=0), [0, 0, -9.81 * truss.mass.sum()])
    np.testing.assert_allclose(truss.self_weight([2.0, 0.0, 0.0])[:, 0].sum(), 2.0 * truss.mass.sum())
    with pytest.raises(ProblemError, match="gravity must have 3 components"):
        truss.self_weight([0.0, -9.81])
