"""The micro-macro LATIN method: counts of the thesis, exactness, invariances, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.bodies.trusses import Truss
from clapas.bodies.trusses.generators import grid
from clapas.errors import ProblemError, SettingsError
from clapas.multiscale import LinkProblem, MicroMacroLATIN, Springs, Substructured
from clapas.multiscale.directions import face_stiffness, node_stiffness
from clapas.multiscale.measures import SlackDistance, largest_error, modal_errors, softest_modes
from clapas.multiscale.partition import graph_parts
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import BlockPivoting, solve_lcp
from clapas.statics.trusses import SmallDisplacements
from clapas.statics.trusses.substructured import (
    SubstructuredDisplacements,
    link_problem,
    module_blocks,
)
from clapas.status import Status
from clapas.typing import Array

THESIS = 3.92e6  # N/m


@pytest.fixture(scope="module")
def truss() -> Truss:
    return grid(16)


@pytest.fixture(scope="module")
def exact(truss: Truss) -> Array:
    return SmallDisplacements().solve(truss, "down").displacements.ravel()


def cut(truss: Truss, parts: int = 4, linear: bool = False, **settings: object) -> Substructured:
    method = MicroMacroLATIN(**{"direction": THESIS, "relaxation": 1.0, **settings})  # type: ignore[arg-type]
    return method.prepare(link_problem(truss, "down", linear=linear), module_blocks(truss, 16, parts))


def test_sizes_of_the_thesis(truss: Truss) -> None:
    whole = cut(truss)
    assert (whole.interfaces.n_strong, whole.n_macro) == (24, 216)
    assert sorted(whole.kernels) == [1] * 8 + [6] * 8  # a blocked edge leaves the turn about it
    assert whole.parts[5].F.shape == (195,)


@pytest.mark.parametrize(("factor", "iterations"), [(0.1, 13), (0.5, 15), (0.75, 25), (1.0, 30)])
def test_iterations_to_one_percent(truss: Truss, factor: float, iterations: int) -> None:
    reference = SmallDisplacements().solve(truss, "down", factor=factor).displacements.ravel()
    whole = cut(truss)
    whole.load(factor * whole.problem.F)
    assert whole.run(40, reference=reference, goal=0.01).iterations_to(0.01) == iterations


def test_one_domain_needs_eleven(truss: Truss, exact: Array) -> None:
    assert cut(truss, 1).run(20, reference=exact, goal=0.01).iterations_to(0.01) == 11


def test_linear_links_need_thirteen(truss: Truss) -> None:
    whole = cut(truss, linear=True)
    K = truss.B.T @ sparse.diags_array(truss.stiffness) @ truss.B
    U = truss.displacements(sparse.linalg.spsolve(K.tocsc(), truss.load("down"))).ravel()
    history = whole.run(60, reference=U)
    assert history.iterations_to(0.01) == 13
    assert history.error[-1] < 1e-5


def test_the_stiffness_of_the_substructure_is_the_better_direction(truss: Truss, exact: Array) -> None:
    automatic = cut(truss, direction="faces")
    assert automatic.directions[0][0] == pytest.approx(1.48e6, rel=5e-3)
    assert automatic.run(40, reference=exact, goal=0.01).iterations_to(0.01) == 17
    adapted = cut(truss, adapt=True).run(40, reference=exact, goal=0.01).iterations_to(0.01)
    assert adapted == 14


def test_without_coarse_problem_nothing_moves(truss: Truss, exact: Array) -> None:
    history = cut(truss, macro=False).run(100, reference=exact)
    assert history.error[-1] == pytest.approx(0.98, abs=0.005)


@pytest.mark.parametrize(
    "settings", [{}, {"macro_direction": 10.0}, {"weak": "macro"}, {"adapt": True}, {"macro": 6}]
)
def test_every_variant_ends_at_the_exact_solution(settings: dict[str, object]) -> None:
    small = grid(6, load=300.0)
    state = SmallDisplacements().solve(small, "down")
    reference = state.displacements.ravel()
    method = MicroMacroLATIN(direction="faces", **settings)  # type: ignore[arg-type]
    whole = method.prepare(link_problem(small, "down"), module_blocks(small, 6, 2))
    whole.run(600, watch=lambda w: largest_error(w.U, reference) < 1e-6)
    assert largest_error(whole.U, reference) < 1e-5
    assert whole.t_hat == pytest.approx(state.forces, abs=1e-4 * state.forces.max())
    assert whole.t == pytest.approx(whole.t_hat, abs=1e-4 * state.forces.max())
    assert whole.e == pytest.approx(whole.e_hat, abs=1e-4 * np.abs(whole.e).max())


def test_relaxation_removes_the_slow_tail(truss: Truss, exact: Array) -> None:
    plain = cut(truss, direction="faces").run(100, reference=exact).error[-1]
    relaxed = cut(truss, direction="faces", relaxation=0.9, adapt=True).run(100, reference=exact).error[-1]
    assert plain > 5e-5
    assert relaxed < 2e-7


def test_one_lcp_per_substructure_is_the_same_method_with_another_local_stage() -> None:
    small = grid(6, load=300.0)
    state = SmallDisplacements().solve(small, "down")

    def lcp(W: Array, q: Array) -> Array:
        return solve_lcp(LCP(W, q), BlockPivoting(tol=1e-10)).z

    whole = MicroMacroLATIN(together=lcp).prepare(link_problem(small, "down"), module_blocks(small, 6, 2))
    whole.run(60, reference=state.displacements.ravel(), goal=1e-3)
    law = whole.problem.law
    assert isinstance(law, Springs)
    assert whole.t_hat == pytest.approx(law.forces(whole.e_hat), abs=1e-3)
    assert largest_error(whole.U, state.displacements.ravel()) < 5e-3
    with pytest.raises(SettingsError, match="together wants"):
        MicroMacroLATIN(together=lcp, adapt=True)


def test_linear_stage_balances_forces_and_local_stage_obeys_the_law(truss: Truss) -> None:
    whole = cut(truss)
    whole.run(5)
    law = whole.problem.law
    assert isinstance(law, Springs)
    assert whole.t_hat == pytest.approx(law.forces(whole.e_hat), abs=1e-6)
    left = whole.problem.B.T @ whole.t - whole.problem.F
    inner = np.repeat(whole.interfaces.sharing == 1, 3) & ~whole.problem.is_blocked
    assert np.abs(left[inner]).max() < 1e-6  # N, beside forces of kilonewtons


def test_threads_do_not_change_a_bit() -> None:
    small = grid(8)
    runs = []
    for threads in (1, 2, 3):
        method = MicroMacroLATIN(direction=THESIS, threads=threads)
        whole = method.prepare(link_problem(small, "down"), module_blocks(small, 8, 4))
        runs.append(whole.run(6))
    for other in runs[1:]:
        assert np.array_equal(runs[0].U, other.U)
        assert np.array_equal(runs[0].indicator, other.indicator)


def test_compiled_runs_do_what_substructures_do_to_the_last_bit() -> None:
    """Two calls an iteration of whole runs, four of runs, four of substructures; values stay readable."""
    small = grid(8, load=160.0)
    wholes = []
    for way in ("two calls", "four calls", "one by one"):
        whole = MicroMacroLATIN().prepare(link_problem(small, "down"), module_blocks(small, 8, 2))
        if way == "one by one":
            whole._runs = []
            whole.runs = lambda count: []  # type: ignore[method-assign]
        whole.iterate(3, (lambda _: None) if way == "four calls" else None)
        whole.load(0.5 * whole.problem.F)
        whole.iterate(4, (lambda _: None) if way == "four calls" else None)
        wholes.append(whole)
    first = wholes[0]
    assert first.runs(1)
    for other in wholes[1:]:
        for name in ("U", "e", "t", "e_hat", "t_hat"):
            assert np.array_equal(getattr(first, name), getattr(other, name)), name
        assert first.indicator() == other.indicator()
        assert first.balance() == other.balance()
        assert all(
            np.array_equal(a.f_macro, b.f_macro) for a, b in zip(first.parts, other.parts, strict=True)
        )


def test_directions_may_change_in_the_middle_of_compiled_runs() -> None:
    small = grid(8, load=160.0)
    found = []
    for compiled in (True, False):
        whole = MicroMacroLATIN().prepare(link_problem(small, "down"), module_blocks(small, 8, 2))
        if not compiled:
            whole.runs = lambda count: []  # type: ignore[method-assign]

        def stiffen(whole: Substructured) -> None:
            if whole.iterations == 2:
                whole.redirect([0.7 * part.l for part in whole.parts], 1.5)

        whole.iterate(6, stiffen)
        found.append(whole.U)
    assert np.array_equal(*found)


def test_a_graph_partition_converges_too() -> None:
    pytest.importorskip("pymetis")
    small = grid(8, load=160.0)
    problem = link_problem(small, "down")
    reference = SmallDisplacements().solve(small, "down").displacements.ravel()
    whole = MicroMacroLATIN(weak="macro").prepare(problem, graph_parts(problem, 4))
    assert whole.run(100, reference=reference, goal=0.01).iterations_to(0.01) is not None


def test_a_plane_truss_has_four_macro_vectors() -> None:
    x, y = np.meshgrid(np.arange(9.0), np.arange(4.0))
    points = np.column_stack((x.ravel(), y.ravel()))
    near = [(i, j) for i in range(36) for j in range(i) if 0 < np.linalg.norm(points[i] - points[j]) < 1.5]
    ends = np.array(near)
    arrow = points[ends[:, 1]] - points[ends[:, 0]]
    arrow /= np.linalg.norm(arrow, axis=1)[:, None]
    rows = np.repeat(np.arange(len(ends)), 4)
    columns = (2 * ends[:, :, None] + np.arange(2)).reshape(len(ends), 4)
    B = sparse.csr_array((np.hstack((-arrow, arrow)).ravel(), (rows, columns.ravel())), shape=(len(ends), 72))
    F = np.zeros(72)
    F[1::2] = -1.0
    law = Springs(np.full(len(ends), 1e3), np.zeros(len(ends)), np.zeros(len(ends), dtype=bool))
    blocked = np.repeat(points[:, 0] == 0.0, 2)
    problem = LinkProblem(B=B, law=law, F=F, dofs_per_node=2, points=points, is_blocked=blocked)
    labels = (points[ends].mean(axis=1)[:, 0] > 4.0).astype(int)
    whole = MicroMacroLATIN().prepare(problem, labels)
    assert (whole.interfaces.n_strong, whole.n_macro) == (1, 4)
    K = (B.T @ sparse.diags_array(law.k) @ B)[:, problem.free][problem.free]
    reference = np.zeros(72)
    reference[problem.free] = sparse.linalg.spsolve(sparse.csc_array(K), F[problem.free])
    history = whole.run(300, reference=reference, goal=1e-8)
    assert history.error[-1] < 1e-8
    assert largest_error(whole.U, reference) < 1e-7


def test_face_stiffness_of_a_chain_is_that_of_springs_in_series() -> None:
    B = sparse.csr_array(np.diff(np.eye(5), axis=0))
    B2 = sparse.csr_array(np.kron(B.toarray(), [[1.0, 0.0]]))  # along x in the plane
    law = Springs(np.full(4, 8.0), np.zeros(4), np.zeros(4, dtype=bool))
    points = np.column_stack((np.arange(5.0), np.zeros(5)))
    chain = LinkProblem(B=B2, law=law, F=np.zeros(10), dofs_per_node=2, points=points)
    assert face_stiffness(chain, np.arange(4), np.array([0])) == pytest.approx(8.0 / 4.0, rel=1e-6)
    assert node_stiffness(chain)[::2].tolist() == [8.0, 16.0, 16.0, 16.0, 8.0]


def test_measures_against_the_exact_solution(truss: Truss, exact: Array) -> None:
    problem = link_problem(truss, "down")
    whole = cut(truss, direction="faces")
    distance = SlackDistance(problem)
    reference = distance.slack(problem.B @ exact)
    assert int((reference > 0.0).sum()) == 408  # 13.28 % of 3072
    history = whole.run(10, reference=exact)
    before = distance(distance.slack(whole.e_hat), reference)
    whole.run(40)
    after = distance(distance.slack(whole.e_hat), reference)
    assert after < 0.3 * before
    _, modes = softest_modes(problem, 4)
    parts = modal_errors(problem, modes, whole.U, exact)
    assert np.linalg.norm(parts) < 0.01
    assert history.indicator[-1] < history.indicator[0]


def test_equilibrium_of_a_truss_by_substructures() -> None:
    small = grid(6, load=300.0)
    labels = module_blocks(small, 6, 2)
    state = SubstructuredDisplacements(tol=1e-5).solve(small, "down", labels=labels)
    exact = SmallDisplacements().solve(small, "down")
    assert state.residual <= 1e-5
    assert state.forces == pytest.approx(exact.forces, abs=1e-3 * exact.forces.max())
    poor = SubstructuredDisplacements(tol=1e-9, max_iterations=2).solve(
        small, "down", labels=labels, check=False
    )
    assert poor.status.name == "MAX_ITERATIONS"


def test_bad_input() -> None:
    problem = link_problem(grid(4), "down")
    with pytest.raises(SettingsError, match="direction must be 'faces'"):
        MicroMacroLATIN(direction="guess")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="relaxation must be above 0"):
        MicroMacroLATIN(relaxation=0.0)
    with pytest.raises(SettingsError, match="weak must be"):
        MicroMacroLATIN(weak="maybe")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="macro_direction must be positive"):
        MicroMacroLATIN(macro_direction=-1.0)
    with pytest.raises(SettingsError, match="threads must be at least 1"):
        MicroMacroLATIN(threads=0)
    with pytest.raises(SettingsError, match="one entry per component"):
        MicroMacroLATIN(direction=np.ones(3)).prepare(problem, module_blocks(grid(4), 4, 2))
    with pytest.raises(ProblemError, match="one entry per link"):
        MicroMacroLATIN().prepare(problem, [0, 1])
    with pytest.raises(ProblemError, match="needs nodes that are points"):
        MicroMacroLATIN().prepare(problem.with_(points=None), module_blocks(grid(4), 4, 2))
    free = link_problem(grid(4, supports="none"))
    with pytest.raises(ProblemError, match="mechanism that its interfaces do not hold"):
        MicroMacroLATIN().prepare(free, np.zeros(free.n_links, dtype=int))
    with pytest.raises(ProblemError, match="the law has 1 rows, B has"):
        problem.with_(law=Springs(np.ones(1), np.ones(1), np.ones(1, dtype=bool)))
    with pytest.raises(ProblemError, match="one entry per column"):
        problem.with_(F=np.zeros(3))


def chain() -> Substructured:
    """Two springs in series that carry 3 N: the shared node moves by 1 m."""
    law = Springs(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2, dtype=bool))
    problem = LinkProblem(
        B=sparse.csr_array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]),
        law=law,
        dofs_per_node=1,
        F=np.array([0.0, 3.0, 0.0]),
        is_blocked=np.array([True, False, True]),
    )
    return MicroMacroLATIN(direction=1.0, macro=False, weak="micro").prepare(problem, [0, 1])


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-12])
def test_the_residual_decides_when_iterations_end(tol: float) -> None:
    whole = chain()
    end = whole.converge(1000, tol, lambda: 100.0 * abs(float(whole.U[1]) - 1.0))
    assert end.status is Status.SOLVED
    assert end.residual == 100.0 * abs(float(whole.U[1]) - 1.0) <= tol
    assert len(end.history.indicator) == whole.iterations < 200


@pytest.mark.parametrize(
    ("count", "residual", "status"),
    [
        (20, 1.0, Status.MAX_ITERATIONS),
        (1000, 1.0, Status.STALLED),
        (1000, np.nan, Status.NUMERICAL_ERROR),
    ],
)
def test_an_indicator_of_zero_is_not_a_solution(count: int, residual: float, status: Status) -> None:
    end = chain().converge(count, 1e-3, lambda: residual)
    assert end.status is status
    assert len(end.history.indicator) <= count
