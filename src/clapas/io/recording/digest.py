"""Checksums of a recording: BLAKE2b of the stored numbers, 64 bits.

The digest of a frame covers its columns except the wall time, the rows of its contacts, and the readings of
the probes since the frame before. Equal runs have equal digests. They are computed from contents, not from
blocks of the file: a writer killed while it rewrites a block leaves earlier frames and their digests valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from clapas.io.recording import joints, layout, systems

NOT_COVERED = {"digest", "seconds"}
ATTRIBUTES = "format version clapas dt every settings names period units".split()


def of_frame(
    frame: Mapping[str, Any],
    contacts: Mapping[str, Any],
    times: Iterable[float],
    values: Any,
    more: Mapping[str, layout.Column],
) -> int:
    """Digest of one frame.

    Parameters
    ----------
    frame, contacts : mapping
        Columns of the frame, and of its contacts and links, by name.
    times, values : arrays (k,) and (k, p)
        Readings of the probes since the frame before.
    more : mapping
        Columns of the frame specific to this recording.
    """
    digest = hashlib.blake2b(digest_size=8)
    columns = {**layout.SLEEP, **layout.FRAMES, **more}
    for name in sorted(frame.keys() & columns.keys() - NOT_COVERED):
        digest.update(_bytes(frame[name], columns[name].dtype))
    for name, column in layout.CONTACTS.items():
        digest.update(_bytes(contacts[name], column.dtype))
    for name, column in layout.LINKS.items():
        if f"links/{name}" in contacts:
            digest.update(_bytes(contacts[f"links/{name}"], column.dtype))
    digest.update(_bytes(times, "f8"))
    digest.update(_bytes(values, "f8"))
    return int.from_bytes(digest.digest(), "little")


def of_constants(file: Any) -> str:
    """Digest of the constant data of an open file: attributes, scene, model, systems, probes."""
    digest = hashlib.blake2b(digest_size=8)
    texts = [repr(file.attrs[name]) for name in ATTRIBUTES]
    texts.append(repr(file["scene"].attrs["source"]))
    if "probes" in file:
        texts.append(repr(file["probes"].attrs["probes"]))
    for text in texts:
        digest.update(text.encode("utf-8", "surrogateescape"))
    arrays = layout.MODEL + [name for name in layout.MAYBE if name in file["model"]]
    for group, names in (("colliders", layout.COLLIDERS), ("hulls", layout.HULLS), ("laws", layout.LAWS)):
        arrays += [f"{group}/{name}" for name in names]
    for name in arrays:
        stored = file["model"][name][()]
        digest.update(f"{name} {stored.shape} {stored.dtype.str}".encode())
        digest.update(np.ascontiguousarray(stored).tobytes())
    for each in (*systems.digested(file), *joints.digested(file)):
        digest.update(each.encode() if isinstance(each, str) else np.ascontiguousarray(each).tobytes())
    return digest.hexdigest()


def _bytes(values: Any, dtype: str) -> Any:
    """The bytes of an array, as a view where it is stored as in the file."""
    return np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).reshape(-1).view(np.uint8)
