"""Generated mixed-integer programs: the random family of the thesis, and four classical ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.cuts.milp import MILP
from clapas.typing import Mask


def dense_program(n: int, seed: int) -> MILP:
    """The family of Cadoux 2009, 7.4, reconstructed, as its distribution is not printed.

    min c·x, A x ≤ b, x ≥ 0 integer, n rows; A_ij uniform in [0, 1], b half the row sums, c uniform in [−1,
    0].
    """
    random = np.random.default_rng(seed)
    A = random.uniform(size=(n, n))
    return MILP(
        c=-random.uniform(size=n),
        A=sparse.csr_array(A),
        row_lower=np.full(n, -np.inf),
        row_upper=A.sum(axis=1) / 2.0,
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        is_integer=np.ones(n, dtype=bool),
        name=f"n{n}-m{n}-s{seed}",
    )


def knapsack(n: int, seed: int, rows: int = 1) -> MILP:
    """Choose among n items of random values and weights, with ``rows`` capacities of half the weights."""
    random = np.random.default_rng(seed)
    weights = random.integers(10, 100, size=(rows, n)).astype(float)
    values = weights.mean(axis=0) + random.integers(-5, 20, size=n)
    return MILP(
        c=-values,
        A=sparse.csr_array(weights),
        row_lower=np.full(rows, -np.inf),
        row_upper=np.floor(weights.sum(axis=1) / 2.0),
        lower=np.zeros(n),
        upper=np.ones(n),
        is_integer=np.ones(n, dtype=bool),
        maximise=True,
        name=f"knapsack-{n}x{rows}-s{seed}",
    )


def set_cover(elements: int, sets: int, seed: int, density: float = 0.1) -> MILP:
    """Cheapest choice of sets that contains every element; each set has an element with that probability."""
    random = np.random.default_rng(seed)
    member = random.uniform(size=(elements, sets)) < density
    member[np.arange(elements), random.integers(sets, size=elements)] = (
        True  # at least one or two sets per element
    )
    member[np.arange(elements), random.integers(sets, size=elements)] = True
    return MILP(
        c=random.integers(1, 10, size=sets).astype(float),
        A=sparse.csr_array(member.astype(float)),
        row_lower=np.ones(elements),
        row_upper=np.full(elements, np.inf),
        lower=np.zeros(sets),
        upper=np.ones(sets),
        is_integer=np.ones(sets, dtype=bool),
        name=f"set-cover-{elements}x{sets}-s{seed}",
    )


def fixed_charge(sources: int, sinks: int, seed: int) -> MILP:
    """Transport from sources to sinks with a fixed cost per open route: flows x ≤ capacity·y, y binary."""
    random = np.random.default_rng(seed)
    demand = random.integers(5, 20, size=sinks).astype(float)
    supply = np.ceil(random.dirichlet(np.ones(sources)) * demand.sum() * 0.5 + demand.sum() / sources)
    routes = sources * sinks
    most = np.minimum(supply[:, None], demand[None, :]).ravel()
    flow = sparse.eye_array(routes, format="csr")
    out = sparse.kron(sparse.eye_array(sources), np.ones((1, sinks)), format="csr")
    into = sparse.kron(np.ones((1, sources)), sparse.eye_array(sinks), format="csr")
    A = sparse.block_array([[out, None], [into, None], [flow, -sparse.diags_array(most)]], format="csr")
    return MILP(
        c=np.concatenate((random.integers(1, 10, size=routes), random.integers(20, 80, size=routes))).astype(
            float
        ),
        A=A,
        row_lower=np.concatenate((np.full(sources, -np.inf), demand, np.full(routes, -np.inf))),
        row_upper=np.concatenate((supply, np.full(sinks, np.inf), np.zeros(routes))),
        lower=np.zeros(2 * routes),
        upper=np.concatenate((most, np.ones(routes))),
        is_integer=_last(routes, routes),
        name=f"fixed-charge-{sources}x{sinks}-s{seed}",
    )


def lot_sizing(items: int, periods: int, seed: int) -> MILP:
    """Items over periods on one machine: production x, stock s, set-ups y; x_t − s_t + s_{t−1} = demand."""
    random = np.random.default_rng(seed)
    demand = random.integers(0, 30, size=(items, periods)).astype(float)
    count = items * periods
    rest = demand[:, ::-1].cumsum(axis=1)[:, ::-1].ravel()  # remaining demand
    capacity = 1.3 * demand.sum() / periods + 15.0
    shift = sparse.kron(sparse.eye_array(items), sparse.eye_array(periods, k=-1), format="csr")
    one = sparse.eye_array(count, format="csr")
    shared = sparse.kron(np.ones((1, items)), sparse.eye_array(periods), format="csr")
    A = sparse.block_array(
        [[one, shift - one, None], [one, None, -sparse.diags_array(rest)], [shared, None, 3.0 * shared]],
        format="csr",
    )
    none = np.full(count + periods, -np.inf)
    costs = (np.ones(count), random.integers(1, 4, size=count), random.integers(30, 100, size=count))
    return MILP(
        c=np.concatenate(costs).astype(float),
        A=A,
        row_lower=np.concatenate((demand.ravel(), none)),
        row_upper=np.concatenate((demand.ravel(), np.zeros(count), np.full(periods, capacity))),
        lower=np.zeros(3 * count),
        upper=np.concatenate((rest, np.full(count, np.inf), np.ones(count))),
        is_integer=_last(count, 2 * count),
        name=f"lot-sizing-{items}x{periods}-s{seed}",
    )


def _last(count: int, before: int) -> Mask:
    return np.concatenate((np.zeros(before, dtype=bool), np.ones(count, dtype=bool)))
