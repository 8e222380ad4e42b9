"""Checks of the input data of a contact problem; errors say what is wrong and where."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.convex.section import Polygons, Section
from clapas.convex.threshold import Thresholds
from clapas.errors import ProblemError, warn
from clapas.typing import Array, MatrixLike

HELD_BY_JOINTS = 1e-12  # fraction of its response without joints below which a contact is blocked by them
SYMMETRY = 1e-10


def form(**arguments: Any) -> Literal["global", "reduced"]:
    """The form, global or reduced, that the arguments describe."""
    names = {name for name, value in arguments.items() if value is not None}
    if names == {"W", "q"}:
        return "reduced"
    if {"M", "H", "f"} <= names <= {"M", "H", "f", "w", "J", "b"} and ("J" in names or "b" not in names):
        return "global"
    raise ProblemError(
        f"got {', '.join(sorted(names)) or 'nothing'}: give either W and q (reduced form) "
        "or M, H, f and optionally w and joints J, b (global form)"
    )


def numbers(name: str, value: Any) -> Array:
    """Read an array of real numbers, copied only if necessary; text and ragged rows are errors."""
    try:
        array = np.asarray(value)
        array = array if array.dtype.kind == "c" else np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(
            f"{name} must be made of numbers, in rows of the same length; got {str(value)[:80]!r}"
        ) from None
    refuse_complex(name, array.dtype)
    return array


def refuse_complex(name: str, dtype: np.dtype[Any]) -> None:
    """Raise if the numbers are complex: NumPy would drop the imaginary part with no more than a warning."""
    if dtype.kind == "c":
        raise ProblemError(f"{name} must be real, got complex numbers: give their real part if that is meant")


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """Shape of an array, a sparse matrix, or lists of numbers."""
    return tuple(value.shape) if hasattr(value, "shape") else numbers(name, value).shape


def matrix(name: str, value: MatrixLike, columns: int | None = None) -> sparse.csr_array:
    """Read a dense or sparse matrix as CSR, finite, with the expected number of columns."""
    if not sparse.issparse(value):
        value = numbers(name, value)
        if value.ndim != 2:
            raise ProblemError(f"{name} must be a matrix, got an array of shape {value.shape}")
    refuse_complex(name, np.dtype(getattr(value, "dtype", float)))
    result = sparse.csr_array(value, dtype=float)
    result.sum_duplicates()
    if columns is not None and result.shape[1] != columns:
        raise ProblemError(f"{name} has {result.shape[1]} columns, expected {columns} (the size of M)")
    refuse_nonfinite(name, result.data)
    return result


def square(name: str, value: MatrixLike) -> int:
    """Size of a square matrix."""
    shape = shape_of(name, value)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ProblemError(f"{name} must be a square matrix, got shape {shape}")
    return int(shape[0])


def dimension(
    rows: int,
    vector: npt.ArrayLike | None,
    mu: Array,
    mu_rank: int,
    given: int | None,
    widths: tuple[int, ...] = (2, 3),
) -> int:
    """Find d, the number of components per contact, and check that it is 2 or 3 (3 or 6 with couples)."""
    shape = () if vector is None else shape_of("q or w", vector)
    if given is not None:
        d = given
    elif len(shape) == 2:
        d = shape[1]
    elif mu_rank == 1 and mu.size:
        d = rows // mu.size
    elif mu_rank == 1:
        d = widths[-1]  # no contact: d does not matter
    elif len(fitting := [width for width in widths if rows % width == 0]) == 1:
        d = fitting[0]
    else:
        low, high = widths
        raise ProblemError(f"cannot tell 2-D from 3-D: give d={low} or d={high}, or vectors of shape (n, d)")
    if d not in widths or rows % d:
        low, high = widths
        raise ProblemError(
            f"{rows} rows do not make contacts of {d} components; expected d·n rows with d = {low} or {high}"
            + (f" and n = {mu.size} (the number of mu)" if mu_rank == 1 else "")
        )
    return int(d)


def vector(name: str, value: npt.ArrayLike | None, size: int) -> Array:
    """Read a flat vector of a known size."""
    result = np.ascontiguousarray(numbers(name, value))
    if result.shape not in {(size,), (size, 1)}:
        raise ProblemError(f"{name} has shape {result.shape}, expected ({size},)")
    refuse_nonfinite(name, result)
    return result.reshape(size)


def contact_vector(name: str, value: npt.ArrayLike | None, n: int, d: int, *, finite: bool = True) -> Array:
    """Read one vector per contact, (n, d) or flat; None is zero."""
    if value is None:
        return np.zeros((n, d))
    result = np.ascontiguousarray(numbers(name, value))
    if result.shape not in {(n, d), (n * d,), (n * d, 1)} and not result.size == n * d == 0:
        raise ProblemError(f"{name} has shape {result.shape}, expected ({n}, {d}) or ({n * d},)")
    if finite:
        refuse_nonfinite(name, result)
    return result.reshape(n, d)


def friction(mu: npt.ArrayLike, n: int) -> Array:
    """Read the coefficients of friction: one per contact, or one for all."""
    given = numbers("mu", mu)
    if given.shape not in ((n,), ()):
        raise ProblemError(f"mu has shape {given.shape}, expected ({n},), one per contact, or one number")
    refuse_nonfinite("mu", given)
    if n and given.size and given.min() < 0.0:
        worst = int(np.argmin(given))
        raise ProblemError(f"contact {worst}: mu must be at least 0, got {given.ravel()[worst]}")
    return given.copy() if given.ndim else np.full(n, float(given))


def section(
    value: Section | Thresholds | npt.ArrayLike | None, n: int, d: int, has_couples: bool = False
) -> Section | Thresholds | None:
    """Read the shape of friction: a section, or the corners of one for all contacts."""
    if value is None:
        return None
    if has_couples:
        raise ProblemError("section: contacts with couples have round friction cones; leave section out")
    if isinstance(value, Thresholds):
        if len(value.limit) != n:
            raise ProblemError(f"there are {len(value.limit)} thresholds for {n} contacts")
        return None if value.is_round.all() else value
    if hasattr(value, "support"):
        return value  # type: ignore[return-value]
    expected = "expected a Section, or corners: (k, 2) in space, (2, 1) in the plane"
    try:
        corners = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(f"section is {value!r}, {expected}") from None
    if corners.ndim != 2 or corners.shape[1] != d - 1:
        raise ProblemError(f"section has shape {corners.shape}, {expected}")
    return Polygons.same(corners, n)


def compliance(value: npt.ArrayLike, n: int, d: int) -> Array:
    """Read the diagonal of C, (n, d); one number per contact, or one for all, is its normal part."""
    values = numbers("compliance", value)
    if values.ndim <= 1 and values.shape in {(), (n,)}:
        result = np.zeros((n, d))
        result[:, 0] = values
    elif values.shape == (n, d):
        result = values.copy()
    else:
        raise ProblemError(f"compliance has shape {values.shape}, expected ({n},), ({n}, {d}) or one number")
    refuse_nonfinite("compliance", result)
    if (result < 0.0).any():
        worst = int(np.argmin(result.min(axis=1)))
        raise ProblemError(f"contact {worst}: compliance must be at least 0, got {result[worst].min()}")
    return result


def delassus(value: MatrixLike, d: int, symmetrise: bool) -> sparse.bsr_array:
    """Read W as d×d blocks; warn if it is not symmetric, raise an error for a negative diagonal."""
    W = matrix("W", value)
    asymmetry = _asymmetry(W)
    if symmetrise:
        W = sparse.csr_array((W + W.T) * 0.5)
    elif asymmetry > SYMMETRY:
        warn(
            f"W is not symmetric: |W - Wᵀ| is {asymmetry:.1e} of |W|. It is used as given; "
            "pass symmetrise=True to replace it by ½(W + Wᵀ)"
        )
    diagonal = W.diagonal()
    if (diagonal < 0).any():
        row = int(np.argmin(diagonal))
        raise ProblemError(
            f"W must be positive semidefinite, but its diagonal entry {row} is {diagonal[row]}"
        )
    _refuse_zero_normal_rows("W", diagonal[::d])
    blocks = sparse.bsr_array(W, blocksize=(d, d))
    blocks.sort_indices()
    return blocks


def mass(value: MatrixLike) -> sparse.csr_array:
    """Read M and check its symmetry; definiteness is checked by the factorisation."""
    M = matrix("M", value)
    asymmetry = _asymmetry(M)
    if asymmetry > SYMMETRY:
        raise ProblemError(
            f"M must be symmetric: |M - Mᵀ| is {asymmetry:.1e} of |M|. If it should be, pass ½(M + Mᵀ)"
        )
    return M


def contacts_have_rows(H: sparse.csr_array, d: int, compliance: Array | None = None) -> None:
    """Raise an error for a contact whose normal row of H is empty."""
    size = np.asarray(abs(H[::d]).sum(axis=1)).ravel()
    _refuse_zero_normal_rows("H", size if compliance is None else size + compliance[:, 0])


def contacts_can_move(response: Array, without_joints: Array) -> None:
    """Raise an error for a contact blocked by joints: no impulse changes its velocity."""
    held = np.flatnonzero(response <= HELD_BY_JOINTS * without_joints)
    if held.size:
        raise ProblemError(
            f"contact {held[0]}: the joints hold both bodies along its normal, so no impulse changes its "
            f"velocity ({held.size} such contacts). Leave it out, or give it compliance"
        )


def _refuse_zero_normal_rows(name: str, size: Array) -> None:
    empty = np.flatnonzero(size == 0)
    if empty.size:
        raise ProblemError(
            f"contact {empty[0]}: its normal row of {name} is zero, so no impulse changes its velocity "
            f"({empty.size} such contacts). Leave out contacts between bodies that cannot move"
        )


def is_finite(values: Array) -> bool:
    """Whether all numbers are finite."""
    if not values.ndim:
        return math.isfinite(float(values))
    # A sum is finite only if its terms are, and far cheaper to test; it may overflow: then test each term.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def refuse_nonfinite(name: str, values: Array) -> None:
    """Raise an error for NaN and infinities, naming the first."""
    if is_finite(values):
        return
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    if bad.size:
        raise ProblemError(
            f"{name} must be finite, got {values.ravel()[bad[0]]} at entry {bad[0]} ({bad.size} bad entries)"
        )


def _asymmetry(A: sparse.csr_array) -> float:
    if A.nnz == 0:
        return 0.0
    largest = float(abs(A).max())
    return float(abs(A - A.T).max()) / largest if largest else 0.0
