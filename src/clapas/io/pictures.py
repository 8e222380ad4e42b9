"""Pictures written whole or not at all.

A disk that fills while a picture is written leaves a file of no or few bytes, which the next reader takes for
a picture.

>>> import errno, tempfile
>>> place = Path(tempfile.mkdtemp()) / "curve.png"
>>> with whole(place):
...     _ = place.write_bytes(b"half of it")
...     raise OSError(errno.ENOSPC, "No space left on device")
Traceback (most recent call last):
...
clapas.errors.WriteError: ...curve.png: No space left on device
>>> place.exists()
False
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clapas.errors import WriteError


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[None]:
    """Remove a file whose writing the system stopped, and name it in the error."""
    try:
        yield
    except OSError as error:
        # With a name it is a file that could not be opened: what is there was there before.
        if error.filename is not None or error.errno is None:
            raise
        written = Path(path).resolve()
        if written.is_file():  # no device
            with suppress(OSError):
                written.unlink()
        raise WriteError(f"{path}: {error.strerror}") from None


def save_figure(figure: Any, path: str | os.PathLike[str], dpi: int) -> None:
    """Write a figure of matplotlib whole or not at all."""
    with whole(path):
        figure.savefig(path, dpi=dpi)
