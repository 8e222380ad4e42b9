"""Design of prestress: least levels for tight cables or stiffness, length errors, tensioning order.

As long as no cable is slack the response to loads is linear in the small-displacement model,

    t = t⁰ + t_F,     t_F = k B K⁻¹ F

so that "no slack under these cases" is a linear condition on t⁰: a closed formula for the level of a given
pattern, a linear program over classes of members otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.prestress import spread_classes
from clapas.bodies.trusses.stability import Unstable, stability
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.statics.trusses.equilibrium import Equilibrium
from clapas.statics.trusses.large import LargeDisplacements
from clapas.typing import Array

LARGEST = 4000  # members for which a full matrix of sensitivities is made
SHIFTS = (0.0, 1e-10)  # of K, relative to its largest stiffness: none first, then one that holds mechanisms
LOADED = 1e-8  # part of a load on mechanisms, relative to the load, up to which it is rounding
NONE = 1e-6  # level of prestress that counts as none where bisection tends to zero
EXACT = 1e-14  # residual, relative to the load, at which refinement ends
SLOWEST = 0.9  # ratio of residuals above which refinement has ended


def load_forces(truss: Truss, case: str) -> Array:
    """Forces t_F (m,) that a load case adds while every cable is tight (N), in small displacements.

    A structure with mechanisms has an answer too, as long as the load does no work on them.

    Raises
    ------
    Unstable
        The load has a part on a mechanism, which is in ``error.mechanism``.
    """
    return _load_forces(truss, case, "take LargeDisplacements().solve(...)")


def _load_forces(truss: Truss, case: str, way_out: str) -> Array:
    """The same; ``way_out`` says in the message what the caller offers for a load on a mechanism.

    Where K is singular, U is sought with K + shift and refined. Refinement removes what K resists; what is
    left of F is its part on the mechanisms.
    """
    F, K, transposed = truss.load(case), Assembly(truss).material().tocsr(), truss.B.T.tocsr()
    size = float(np.linalg.norm(F))
    if not size > 0.0:
        return np.zeros(truss.n_members)
    unit = float(truss.stiffness.max()) * sparse.eye_array(K.shape[0], format="csr")
    left = F
    for shift in SHIFTS:
        try:
            factor = factorise((K + shift * unit).tocsr() if shift else K)
        except ProblemError:
            continue
        U, left, before = np.zeros_like(F), F, np.inf
        while EXACT * size < np.linalg.norm(left) < SLOWEST * before:
            before = float(np.linalg.norm(left))
            U = U + factor.solve(left)
            t = np.asarray(truss.stiffness * (truss.B @ U))
            left = F - transposed @ t
        if np.linalg.norm(left) <= LOADED * size:
            return t
    motion = truss.displacements(left / np.abs(left).max())
    node = truss.label(int(np.argmax(np.abs(motion).max(axis=1))))
    share = float(np.linalg.norm(left)) / size
    raise Unstable(
        f"load case {case!r} acts on a mechanism ({share:.2g} of it, at node {node} most): nothing resists "
        "it in small displacements, whatever the prestress. For large ones, "
        f"{way_out}; or add members. error.mechanism holds the motion",
        truss,
        motion,
    )


def prestress_level(
    truss: Truss,
    cases: Iterable[str] | None = None,
    *,
    margin: float = 0.0,
    model: str = "small",
    accuracy: float = 1e-4,
) -> float:
    """The least factor on the prestress for which no cable is slack under the cases.

    Parameters
    ----------
    truss : Truss
        Its prestress is the pattern.
    cases : iterable of str, optional
        Load cases; all by default.
    margin : float
        Required smallest cable force (N).
    model : "small" or "large"
        Small displacements: a formula. Large ones: bisection over solves, the factor to ``accuracy``.
    accuracy : float
        Relative width at which bisection ends.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import grid
    >>> from clapas.statics.trusses import SmallDisplacements
    >>> truss = grid(4)
    >>> level = prestress_level(truss, ["down"])
    >>> tight = truss.with_(prestress=1.001 * level * truss.prestress)
    >>> loose = truss.with_(prestress=0.999 * level * truss.prestress)
    >>> [SmallDisplacements().solve(t, "down").slack_share > 0 for t in (tight, loose)]
    [False, True]
    """
    names = list(truss.cases) if cases is None else list(cases)
    if not names:
        raise ProblemError("the structure has no load case: give it some (cases={...}) or name them")
    cable = truss.is_cable
    if (truss.prestress[cable] <= 0.0).any():
        raise ProblemError(
            f"{int((truss.prestress[cable] <= 0.0).sum())} cables have no prestress, so that no level makes "
            "them tight: take a pattern with tension in all cables (feasible_self_stress), or make them bars"
        )
    if model == "small":
        way_out = "take prestress_level(..., model='large')"
        added = np.stack([_load_forces(truss, case, way_out)[cable] for case in names]).min(axis=0)
        return max(0.0, float(((margin - added) / truss.prestress[cable]).max()))
    if model != "large":
        raise ProblemError(f"model must be 'small' or 'large', got {model!r}")

    def is_enough(level: float) -> bool:
        scaled = truss.with_(prestress=level * truss.prestress)
        for case in names:
            state = LargeDisplacements().solve(scaled, case, check=False)
            if not state.status.is_solved or state.forces[cable].min() <= margin:
                return False
        return True

    low, high = 0.0, 1.0
    while not is_enough(high):
        low, high = high, 2.0 * high
        if high > 1e6:
            raise ProblemError(
                "no level up to a million times the given prestress keeps all cables tight: change the "
                "pattern"
            )
    while high - low > accuracy * max(high, NONE):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def least_prestress(
    truss: Truss,
    cases: Iterable[str] | None = None,
    *,
    margin: float = 0.0,
    classes: npt.ArrayLike | None = None,
) -> Array:
    """The self-stress (m,) of least Σ|t⁰| l that keeps every cable tight under the cases, in small
    displacements.

    A linear program over one force per class (each member by default): Bᵀ t⁰ = 0, t⁰ + t_F ≥ margin and t⁰ ≥
    0 in cables. Σ|t| l measures the material of a minimal structure.

    Parameters
    ----------
    truss : Truss
        The structure; its prestress is ignored.
    cases : iterable of str, optional
        Load cases; all by default.
    margin : float
        Required smallest cable force under every case (N).
    classes : array (m,), optional
        Members with the same number get the same force.
    """
    names = list(truss.cases) if cases is None else list(cases)
    spread = spread_classes(truss, classes)
    size = spread.shape[1]
    cables = np.flatnonzero(truss.is_cable)
    way_out = "scale the prestress that the structure has by prestress_level(..., model='large')"
    added = (
        np.stack([_load_forces(truss, case, way_out)[cables] for case in names]).min(axis=0)
        if names
        else np.zeros(len(cables))
    )
    need = np.maximum(margin - added, 0.0)
    weight = np.asarray(spread.T @ truss.lengths)
    # Unknowns: forces s of the classes and their sizes a ≥ |s|.
    eye = sparse.eye_array(size)
    sizes = sparse.block_array([[eye, -eye], [-eye, -eye]])
    tight = sparse.hstack((-spread[cables], sparse.csr_array((len(cables), size))))
    program = optimize.linprog(
        np.concatenate((np.zeros(size), weight)),
        A_ub=sparse.vstack((sizes, tight)).tocsr(),
        b_ub=np.concatenate((np.zeros(2 * size), -need)),
        A_eq=sparse.hstack((truss.B.T @ spread, sparse.csr_array((truss.n_dof, size)))).tocsr(),
        b_eq=np.zeros(truss.n_dof),
        bounds=[(None, None)] * size + [(0.0, None)] * size,
        method="highs",
    )
    if program.x is None:
        raise ProblemError(
            "no self-stress keeps every cable tight under these cases (with these classes): add cables, "
            "take finer classes, or accept slack cables"
        )
    forces = np.asarray(spread @ program.x[:size])
    return np.where(truss.is_cable, np.maximum(forces, 0.0), forces)


def level_for_stiffness(truss: Truss, stiffness: float, *, accuracy: float = 1e-4) -> float:
    """The least factor on the prestress for which the smallest eigenvalue of K + K_G reaches ``stiffness``
    (N/m).

    Raises
    ------
    ProblemError
        No level does: the material stiffness bounds it, or compression destabilises first.
    """
    if stiffness <= 0.0:
        raise ProblemError(f"the stiffness must be positive, got {stiffness:g} N/m")

    def smallest(level: float) -> float:
        return stability(truss.with_(prestress=level * truss.prestress)).smallest

    low, high = 0.0, 1.0
    while smallest(high) < stiffness:
        if high > 1e4 or smallest(2.0 * high) <= smallest(high):
            raise ProblemError(
                f"no level of this prestress gives {stiffness:g} N/m: at {high:g} times it the smallest "
                f"stiffness is {smallest(high):.4g} N/m. Add members, or change the pattern"
            )
        low, high = high, 2.0 * high
    while high - low > accuracy * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if smallest(middle) >= stiffness else (middle, high)
    return high


def length_sensitivity(truss: Truss) -> Array:
    """Change of force in member i per metre by which member j is too long, S (m × m, N/m).

    About the prestressed shape, with all cables tight: S = −(k − k B K_T⁻¹ Bᵀ k), K_T = K + K_G. Independent
    errors of standard deviation σ give forces of standard deviation σ |S_i|.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import kite
    >>> S = length_sensitivity(kite())
    >>> bool(S[2, 2] < 0), bool(np.allclose(S, S.T))  # a cable that is too long loses tension
    (True, True)
    """
    if truss.n_members > LARGEST:
        raise ProblemError(f"a full matrix for {truss.n_members} members is too large: at most {LARGEST}")
    rest_stability = stability(truss)
    if not rest_stability.is_stable:
        raise Unstable(
            "the structure is unstable: forces have no sensitivity there", truss, rest_stability.mode
        )
    assembly, rigid = Assembly(truss), rest_stability.kinematics.rigid
    K = (assembly.material() + assembly.geometric()).toarray()
    K += (
        float(np.abs(K).max()) * rigid @ rigid.T
    )  # rigid motions stretch nothing: any stiffness on them is allowed
    kB = truss.stiffness[:, None] * truss.B.toarray()
    return np.asarray(kB @ linalg.solve(K, kB.T, assume_a="pos") - np.diag(truss.stiffness))


@dataclass(frozen=True, eq=False)
class TensioningStage:
    """One stage of tensioning: the group brought to its length, and the state after it."""

    group: str
    state: Equilibrium

    @property
    def jack_force(self) -> float:
        """Mean force of the group's members just after they are tensioned (N)."""
        return float(self.state.forces[self.state.truss.members_of(self.group)].mean())


def tensioning(truss: Truss, order: Sequence[str], *, slack: float = 1e-3) -> list[TensioningStage]:
    """Bring groups to their final rest lengths one after the other, in large displacements.

    Before its stage a group is ``slack`` (m) longer than its place in the final shape; groups that are not
    named have their final lengths from the start. The last state is the designed one for any order; the
    intermediate forces, and the jack force of each stage, depend on it.

    Parameters
    ----------
    truss : Truss
        The designed state.
    order : sequence of str
        Names of groups.
    slack : float
        Extra length before the stage (m).
    """
    if len(set(order)) != len(order) or not order:
        raise ProblemError(f"the order must name each group once, got {list(order)}")
    rest = truss.rest_lengths.copy()
    for name in order:
        members = truss.members_of(name)
        rest[members] = truss.lengths[members] + slack
    stages, guess = [], None
    for name in order:
        members = truss.members_of(name)
        rest[members] = truss.rest_lengths[members]
        state = LargeDisplacements(max_iterations=1000).solve(truss, rest_lengths=rest.copy(), guess=guess)
        stages.append(TensioningStage(name, state))
        guess = state.displacements
    return stages
