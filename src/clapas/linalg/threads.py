"""Dense matrices of contact problems are small: one thread multiplies them fastest."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep the linear algebra libraries to one thread inside the block.

    Their threads wait for each other by spinning. On products of some hundred rows, and on a machine that
    others use, this has been measured to cost thirty times the product.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited
