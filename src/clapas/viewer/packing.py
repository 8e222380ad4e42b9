"""Format in which arrays reach the page: a JSON header that names them, then their bytes.

    4 bytes      length of the header, little-endian
    header       JSON, padded with spaces to a multiple of 4 bytes
    data         the arrays one after another, little-endian, each from a multiple of 4 bytes on

The header holds any JSON data and, under ``arrays``, for each array its type
(``f4``, ``i4``, ``u1``), its shape and the byte at which it starts in the data. The page reads arrays
in place, without copying.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = ("f4", "i4", "u1")
ALIGNMENT = 4


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Bytes of a header and named arrays.

    >>> data = pack({"time": 0.5}, {"speed": np.array([1.0, 2.0], dtype="f4")})
    >>> unpack(data)[0]["time"], unpack(data)[1]["speed"].tolist()
    (0.5, [1.0, 2.0])
    """
    table: dict[str, tuple[str, list[int], int]] = {}
    chunks: list[bytes] = []
    start = 0
    for name, values in arrays.items():
        kind = values.dtype.str[1:]
        assert kind in TYPES, f"{name}: {values.dtype} does not travel"
        raw = _padded(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())
        table[name] = (kind, list(values.shape), start)
        chunks.append(raw)
        start += len(raw)
    text = json.dumps(_without_nan({**header, "arrays": table}), separators=(",", ":"), allow_nan=False)
    head = _padded(text.encode(), b" ")
    return b"".join((len(head).to_bytes(ALIGNMENT, "little"), head, *chunks))


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays from bytes made by :func:`pack`, for tests and scripts."""
    base = ALIGNMENT + int.from_bytes(data[:ALIGNMENT], "little")
    header = json.loads(data[ALIGNMENT:base])
    arrays = {
        name: np.frombuffer(
            data, dtype="<" + kind, count=int(np.prod(shape, dtype=int)), offset=base + start
        ).reshape(shape)
        for name, (kind, shape, start) in header.pop("arrays").items()
    }
    return header, arrays


def _padded(raw: bytes, filler: bytes = b"\0") -> bytes:
    return raw + filler * (-len(raw) % ALIGNMENT)


def _without_nan(value: Any) -> Any:
    """The same value with NaN and infinity, which JSON lacks, as null."""
    if isinstance(value, Mapping):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
