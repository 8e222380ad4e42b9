"""Contact problems and LCPs with hostile data, measured by a judge in fractions.

Whatever the data: what is called SOLVED obeys the law in exact arithmetic, what is called NO_SOLUTION has
none (up to the size that was stated), what cannot be represented is refused by a ``ProblemError``, and
nothing else is raised. A short sample runs by default; the rest is marked slow and prints how much it tried.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, existence
from clapas.problems.existence import Verdict
from clapas.problems.lcp import LCP
from clapas.solvers import NSGS, solve
from clapas.solvers.auto import Auto
from clapas.solvers.branch_and_bound import BranchAndBound, all_solutions
from clapas.solvers.lcp import registry, solve_lcp
from clapas.status import Status
from clapas.typing import Array
from tests.torture import judge
from tests.torture.harness import inputs, seed

Random = np.random.Generator
TOL = 1e-8
SLACK = 100.0  # between the judge's Euclidean norm over contacts and the largest violation
BEYOND = 1e7  # impulses larger than this, over those that cancel q, are outside what a proof excludes


# -------------------------------------------------------------------- twelve kinds of data


def whole(random: Random, n: int) -> tuple[Array, Array, Array]:
    """Small whole numbers: ties, singular matrices, exact degeneracy."""
    H = random.integers(-2, 3, (2 * n, int(random.integers(1, 2 * n + 1)))).astype(float)
    H[::2][~H[::2].any(axis=1), 0] = 1.0
    return H @ H.T, random.integers(-3, 4, (n, 2)).astype(float), random.choice([0.0, 0.5, 1.0, 3.0], n)


def smooth(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, _ = whole(random, n)
    return W, q, np.zeros(n)


def rough(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, _ = whole(random, n)
    return W, q, 10.0 ** random.integers(0, 17, n)


def huge(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    return W, q * 1e150, mu


def tiny(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    return W * 1e-150, q * 1e-150, mu


def heavy(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    return W * 1e150, q, mu


def scattered(random: Random, n: int) -> tuple[Array, Array, Array]:
    """Contacts of very different units."""
    W, q, mu = whole(random, n)
    unit = np.repeat(2.0 ** random.integers(-40, 41, n), 2)
    return unit[:, None] * W * unit, q * unit.reshape(n, 2), mu


def empty_rows(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    idle = 2 * random.integers(0, n) + 1
    W[idle], W[:, idle] = 0.0, 0.0
    return W, q, mu


def twice(random: Random, n: int) -> tuple[Array, Array, Array]:
    """Every contact is there twice."""
    W, q, mu = whole(random, max(1, n // 2))
    return np.kron(np.ones((2, 2)), W), np.vstack((q, q)), np.concatenate((mu, mu))


def unsymmetric(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    return W + np.triu(random.integers(-2, 3, W.shape), 1), q, mu


def ratios(random: Random, n: int) -> tuple[Array, Array, Array]:
    """A column of bodies whose masses differ by up to 1e15."""
    masses = 10.0 ** random.integers(-7, 9, n)
    W = np.zeros((2 * n, 2 * n))
    for i in range(n):
        W[2 * i, 2 * i] = W[2 * i + 1, 2 * i + 1] = 1.0 / masses[i] + (1.0 / masses[i - 1] if i else 0.0)
        if i:
            for part in (0, 1):
                W[2 * i + part, 2 * i - 2 + part] = W[2 * i - 2 + part, 2 * i + part] = -1.0 / masses[i - 1]
    q = np.zeros((n, 2))
    q[0] = -1.0, random.integers(-2, 3)
    return W, q, random.choice([0.0, 0.5, 2.0], n)


def subnormal(random: Random, n: int) -> tuple[Array, Array, Array]:
    W, q, mu = whole(random, n)
    return W, q * 5e-324, mu


KINDS: dict[str, Callable[[Random, int], tuple[Array, Array, Array]]] = {
    each.__name__: each
    for each in (
        whole, smooth, rough, huge, tiny, heavy, scattered, empty_rows, twice, unsymmetric, ratios, subnormal,
    )
}  # fmt: skip
SOLVERS = {
    "auto": Auto(tol=TOL, time_limit=5.0),
    "branch-and-bound": BranchAndBound(tol=TOL, time_limit=5.0, restarts=1),
    "nsgs": NSGS(tol=TOL, max_iterations=300),
}


def problems(kind: str, seed: int, count: int) -> Iterator[ContactProblem]:
    """Problems of a kind; what the constructor refuses is skipped."""
    random = np.random.default_rng((seed, list(KINDS).index(kind)))
    for _ in range(count):
        W, q, mu = KINDS[kind](random, int(random.integers(1, 3)))
        try:
            yield ContactProblem(W=W, q=q, mu=mu)
        except ProblemError:
            continue


def assert_nothing_false(problem: ContactProblem, status: Status, r: Array) -> None:
    W, q, mu = problem.W.toarray(), problem.q.ravel(), problem.mu
    told = f"\nW = {W.tolist()}\nq = {q.tolist()}\nmu = {mu.tolist()}\nr = {r.tolist()}\n{status.name}"
    if status is Status.SOLVED:
        assert np.isfinite(r).all(), told
        missed = judge.misses(W.tolist(), q.tolist(), mu.tolist(), r.ravel().tolist())
        assert missed <= Fraction(SLACK * TOL), f"missed by {float(missed):.2e}{told}"
    if status is Status.NO_SOLUTION:
        known = judge.contact_solution(W.tolist(), q.tolist(), mu.tolist())
        assert known is None or not _is_moderate(problem, known), f"{known}{told}"


def assert_existence_is_true(problem: ContactProblem, verdict: Verdict) -> None:
    """What Cadoux's criterion says against all modes tried in fractions."""
    if verdict not in (Verdict.CERTIFIED, Verdict.IMPOSSIBLE):
        return
    W, q, mu = problem.W.toarray().tolist(), problem.q.ravel().tolist(), problem.mu.tolist()
    known = judge.contact_solution(W, q, mu)
    told = f"{verdict.name}\nW = {W}\nq = {q}\nmu = {mu}\nexact {known}"
    if verdict is Verdict.CERTIFIED:
        assert known is not None, told
    else:
        assert known is None or not _is_moderate(problem, known), told


def _is_moderate(problem: ContactProblem, r: judge.Row) -> bool:
    """Impulses within what every accepted proof excludes."""
    response = [Fraction(float(value)) for value in np.repeat(problem.response, problem.d)]
    largest = max((abs(a * b) for a, b in zip(response, r, strict=True)), default=Fraction(0))
    speed = max((abs(Fraction(float(value))) for value in problem.q.ravel()), default=Fraction(0))
    return largest <= Fraction(BEYOND) * speed


def fuzz_contacts(kind: str, seed: int, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unsymmetric W is told; overflow is what is being tried
        for problem in problems(kind, seed, count):
            verdict = existence.check(problem, quick=True).verdict
            assert_existence_is_true(problem, verdict)
            for name, solver in SOLVERS.items():
                solution = solve(problem, solver, check=False)
                seen[f"{name} {solution.status.name}"] += 1
                assert_nothing_false(problem, solution.status, solution.r)
                assert not (verdict is Verdict.CERTIFIED and solution.status is Status.NO_SOLUTION)
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_about_contacts(kind: str) -> None:
    assert sum(fuzz_contacts(kind, seed=1, count=4).values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_about_many_contacts(kind: str) -> None:
    seen = fuzz_contacts(kind, seed=2 + seed(), count=inputs(400, 0.005))
    print(f"\n{kind}: {sum(seen.values())} answers, {dict(sorted(seen.items()))}")


# -------------------------------------------------------------------- two-dimensional modes, exactly


def against_enumeration(seed: int, count: int) -> Counter[str]:
    """Existence by fractions against all_solutions and branch and bound, on whole numbers."""
    random = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    for _ in range(count):
        W, q, mu = whole(random, int(random.integers(1, 4)))
        problem = ContactProblem(W=W, q=q, mu=mu)
        exists = judge.contact_solution(W.tolist(), q.ravel().tolist(), mu.tolist()) is not None
        listed = all_solutions(problem)
        assert exists == bool(listed.isolated or listed.continua), (W, q, mu)
        status = solve(problem, SOLVERS["branch-and-bound"], check=False).status
        assert status is (Status.SOLVED if exists else Status.NO_SOLUTION), (W, q, mu, status)
        seen["exists" if exists else "none"] += 1
    return seen


def test_modes_in_the_plane_agree_with_fractions() -> None:
    seen = against_enumeration(seed=4, count=40)
    assert seen["none"] > 0
    assert seen["exists"] > 20


@pytest.mark.slow
def test_many_modes_in_the_plane_agree_with_fractions() -> None:
    print(f"\n{dict(against_enumeration(seed=5 + seed(), count=inputs(1500, 0.02)))}")


# -------------------------------------------------------------------- LCPs


def lcp(random: Random) -> LCP:
    """Whole numbers, semidefinite or not, in units from 1e-150 to 1e150, rows and columns apart."""
    n = int(random.integers(1, 5))
    M = random.integers(-3, 4, (n, n)).astype(float)
    if random.random() < 0.4:
        M = M @ M.T
    q = random.integers(-4, 4, n).astype(float)
    kind = random.integers(0, 5)
    if kind == 1:
        M, q = M * 1e150, q * 1e-150
    elif kind == 2:
        q = q * 10.0 ** float(random.choice([-300, -160, 160, 300]))
    elif kind == 3:
        rows, columns = 2.0 ** random.integers(-26, 27, (2, n))
        M, q = rows[:, None] * M * columns, rows * q
    elif kind == 4:
        M[random.integers(0, n)] = 0.0
    return LCP(M, q)


def lcp_misses(problem: LCP, z: Array) -> Fraction:
    """|min(w, λ z)| relative to the largest |q|, in exact arithmetic."""
    values, free = judge.exact(z), judge.exact(problem.q)
    scale = max((abs(value) for value in free), default=Fraction(0)) or Fraction(1)
    worst = Fraction(0)
    for i, row in enumerate(problem.dense.tolist()):
        w = free[i] + sum((Fraction(a) * b for a, b in zip(row, values, strict=True)), Fraction(0))
        worst = max(worst, abs(min(w, Fraction(float(problem.response[i])) * values[i])))
    return worst / scale


def fuzz_lcps(seed: int, count: int, names: tuple[str, ...]) -> Counter[str]:
    random = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            problem = lcp(random)
            known = judge.lcp_solution(problem.dense.tolist(), problem.q.tolist())
            for name in names:
                told = f"{name}: M = {problem.dense.tolist()}, q = {problem.q.tolist()}"
                limits = {} if name == "enumeration" else {"time_limit": 0.5}
                if name == "gauss-seidel" and (problem.M.diagonal() <= 0.0).any():
                    continue  # it needs a positive diagonal and says so, except where it can do without
                solution = solve_lcp(problem, registry.make(name, tol=TOL, **limits), check=False)
                seen[f"{name} {solution.status.name}"] += 1
                if solution.status is Status.SOLVED:
                    missed = lcp_misses(problem, solution.z)
                    assert missed <= Fraction(SLACK * TOL), f"missed by {float(missed):.1e}; {told}"
                if solution.status is Status.NO_SOLUTION:
                    assert known is None, f"{[float(z) for z in known]}; {told}"
                    assert solution.infeasibility is not None or solution.refutation is not None, told
                assert math.isfinite(float(np.abs(solution.z).max(initial=0.0))), told
    return seen


def test_nothing_false_about_lcps() -> None:
    seen = fuzz_lcps(seed=6, count=12, names=registry.names())
    assert sum(seen.values()) > 100


@pytest.mark.slow
def test_nothing_false_about_many_lcps() -> None:
    seen = fuzz_lcps(seed=7 + seed(), count=inputs(486, 0.01), names=registry.names())
    print(f"\n{sum(seen.values())} answers, {dict(sorted(seen.items()))}")
