"""Names for the arrays that cross the package's borders."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.integer[Any]]
Mask: TypeAlias = npt.NDArray[np.bool_]
Sparse: TypeAlias = sparse.sparray
MatrixLike: TypeAlias = npt.ArrayLike | sparse.sparray | sparse.spmatrix | Any
