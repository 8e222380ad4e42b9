"""Memory that one step frees stays with the process for the next.

A step of ten thousand spheres takes some megabytes and frees them. The C library gives them back to the
system, and each page costs a fault when the next step takes it again: 300 of them, a tenth of the step. GNU's
library learns from what a program frees: after a block of s bytes, blocks up to s come from its own heap, and
up to 2 s of free memory stay there (``M_MMAP_THRESHOLD`` in malloc(3); s is at most 32 MB). One untouched
block is enough; other libraries ignore it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

LARGEST = 8 << 20  # bytes: enough for ten thousand spheres, and nothing beside the arrays of a million


@cache
def keep_freed_memory() -> None:
    """Let the C library keep some megabytes of freed memory, for the rest of the process."""
    np.empty(LARGEST, dtype=np.uint8)
