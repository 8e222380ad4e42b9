"""The types of a kernel's arguments in a file of text, and back again.

Numba has no text of its types that it could read. Here a number is its name, an array the sort of its numbers
or the fields of its records, with its layout, and a named tuple the place of its class with its parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numba
import numpy as np
from numba.core import types as numba_types
from numba.np.numpy_support import as_dtype

types: Any = numba_types


def encoded(kind: Any) -> Any:
    """A type as lists and strings, which JSON can hold."""
    if isinstance(kind, types.Array):
        return ["array", _sort_of(as_dtype(kind.dtype)), kind.ndim, kind.layout, kind.mutable, kind.aligned]
    if isinstance(kind, types.BaseNamedTuple):
        made = kind.instance_class
        return ["named", made.__module__, made.__qualname__, [encoded(each) for each in kind.types]]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", [encoded(each) for each in kind.types]]
    if isinstance(kind, types.Number | types.Boolean | types.NoneType):
        return str(kind)
    raise TypeError(f"no text for arguments of type {kind}")


def decoded(text: Any) -> Any:
    """The type that :func:`encoded` has put into lists and strings."""
    if isinstance(text, str):
        return getattr(types, text)
    word, *rest = text
    if word == "array":
        sort, ndim, layout, mutable, aligned = rest
        made = numba.from_dtype(_dtype_of(sort))
        return types.Array(made, ndim, layout, readonly=not mutable, aligned=aligned)
    if word == "named":
        module, name, parts = rest
        fields = tuple(map(decoded, parts))
        kind = types.NamedUniTuple if len(set(fields)) == 1 else types.NamedTuple
        named = getattr(import_module(module), name)
        return kind(fields[0], len(fields), named) if len(set(fields)) == 1 else kind(fields, named)
    return types.BaseTuple.from_types(tuple(map(decoded, rest[0])))


def _sort_of(dtype: Any) -> Any:
    """The sort of number of an array, or the fields of its records: name, sort, offset."""
    if dtype.names is None:
        return dtype.str
    fields = [[name, dtype.fields[name][0].str, dtype.fields[name][1]] for name in dtype.names]
    return [fields, dtype.itemsize, dtype.isalignedstruct]


def _dtype_of(sort: Any) -> Any:
    if isinstance(sort, str):
        return np.dtype(sort)
    fields, size, aligned = sort
    names, formats, offsets = (list(column) for column in zip(*fields, strict=True))
    columns: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    return np.dtype(columns, align=aligned)
