"""Freed memory stays with the process, where the C library is that of GNU."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from clapas.compiled.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        kept = [np.ones(300_000) for _ in range(3)]  # with those before 14 MB, of 16 that stay
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = faults()
keep_freed_memory()
faults()
print(first, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_steps_do_not_fault_their_memory_in_again() -> None:
    found = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    before, after = map(int, found.stdout.split())
    assert after < max(0.1 * before, 500)  # huge pages fault less anyway
