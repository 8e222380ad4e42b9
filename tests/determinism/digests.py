"""Two measures of a run: its bits, and a sketch that another processor can be asked for.

*Bits* are a digest of every state and impulse of the run, bit by bit. They are the same for every rerun and
number of threads on one machine, but not on all machines: the compiler fuses multiplications and additions
where the processor can, and libraries add in another order in wider registers. They are therefore stored with
the environment that made them, and compared only there.

*A sketch* is compared everywhere. A digest of rounded values would not do: of 10⁴ values one is always so
near to a rounding boundary that its last bits decide. Instead each column x of a state (positions,
velocities, impulses…) is reduced to a few sums

    s_k = Σ_i ε_ki x_i / max|x|,     ε_ki = ±1 drawn once from a fixed seed,

which are stored as numbers and compared within ``TOLERANCE``. A change of one value shows in all of them, and
the difference says how large it was. Which contacts there are is compared exactly.

Motion in contact is chaotic, so the sketch is of an early state: that after ``portable`` steps. How early,
and how large the tolerance, was measured with kernels and libraries held to the oldest instructions of the
processor (``python -m tests.determinism --plain``). Largest differences of the sums, no fused and no wide
instructions against a Zen 3 processor with both:

    spheres         1e-13 after 3 steps, 5e-10 after 4, 5e-9 after 6, 5e-2 after 20
    boxes           5e-13 after 45 steps, 3e-13 after 60, 5e-12 after 70, 6e-5 after 100
    other runs      5e-12 at their ends

The tolerance is some hundred times the largest difference that is left.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import llvmlite
import numba
import numpy as np
import scipy
from llvmlite import binding
from numba.core import config

from clapas.dynamics.state import State

GOLDEN = Path(__file__).with_name("golden.json")
SUMS = 4
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Digest:
    """What is kept of a run.

    Parameters
    ----------
    bits : str
        Digest of all states, bit by bit.
    contacts : str
        Number of contacts after the portable steps, and a digest of the contacts of all these steps.
    sketch : dict
        Sums of the columns of the state after the portable steps; see the head of this file.
    """

    bits: str
    contacts: str
    sketch: dict[str, list[float]]


def columns(state: State) -> dict[str, np.ndarray]:
    """The numbers of a state."""
    found = {name: getattr(state, name) for name in ("position", "orientation", "velocity")}
    found |= {name: getattr(state.impulses, name) for name in ("impulse", "couple")}
    return {name: np.ascontiguousarray(values, dtype=float) for name, values in found.items()}


def identities(state: State) -> np.ndarray:
    """The identities of the contacts, (n, 3)."""
    return np.column_stack((state.impulses.a, state.impulses.b, state.impulses.feature)).astype(np.int64)


def digest(states: Iterable[State], portable: int) -> Digest:
    """The digest of a run: its bits, and the sketch after so many steps."""
    bits, contacts = hashlib.blake2b(digest_size=12), hashlib.blake2b(digest_size=12)
    for step, state in enumerate(states, start=1):
        which = identities(state)
        bits.update(which.tobytes())
        for values in columns(state).values():
            bits.update(values.tobytes())
        if step <= portable:
            contacts.update(which.tobytes())
        if step == portable:
            count, sums = len(which), {name: sketch(name, values) for name, values in columns(state).items()}
    return Digest(bits.hexdigest(), f"{count} {contacts.hexdigest()}", sums)


def sketch(name: str, values: np.ndarray) -> list[float]:
    """Sums of the values of a column with random signs, relative to the largest."""
    flat = values.ravel()
    largest = np.abs(flat).max(initial=0.0)
    if largest == 0.0:
        return [0.0] * SUMS
    signs = np.random.default_rng([ord(letter) for letter in name]).choice([-1.0, 1.0], (flat.size, SUMS))
    return [float(total) for total in (flat / largest) @ signs]


def difference(one: Digest, two: Digest) -> dict[str, float]:
    """Largest difference of the sums of each column."""
    return {name: float(np.abs(np.subtract(one.sketch[name], two.sketch[name])).max()) for name in one.sketch}


def environment() -> str:
    """What the bits depend on besides the sources."""
    cpu = config.CPU_NAME or binding.get_host_cpu_name()
    host = binding.get_host_cpu_features()
    wide = next((name for name in ("avx512f", "avx2", "avx", "neon") if host.get(name)), "baseline")
    system = " ".join((platform.system(), platform.machine(), *platform.libc_ver()))
    return (
        f"{system}, {cpu} {wide}, numba {numba.__version__}, "
        f"llvmlite {llvmlite.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"
    )


def read() -> dict[str, dict[str, object]]:
    """The stored digests, by run."""
    found: dict[str, dict[str, object]] = json.loads(GOLDEN.read_text()) if GOLDEN.is_file() else {}
    return found


def write(digests: dict[str, Digest]) -> None:
    """Store digests; bits of other environments are kept for runs whose sketch has not changed."""
    before = read()
    content = {}
    for name, new in digests.items():
        entry = asdict(new)
        old = before.get(name, {})
        same = "sketch" in old and agrees(new, old)
        entry["bits"] = {**(old["bits"] if same else {}), environment(): new.bits}  # type: ignore[dict-item]
        content[name] = entry
    GOLDEN.write_text(json.dumps(content, indent=1) + "\n")


def golden(name: str) -> Digest:
    """The stored digest of a run; its bits are empty where none are known for this environment."""
    entry = read()[name]
    bits = entry["bits"].get(environment(), "")  # type: ignore[attr-defined]
    return Digest(bits, entry["contacts"], entry["sketch"])  # type: ignore[arg-type]


def agrees(new: Digest, old: dict[str, object]) -> bool:
    """Whether a stored entry describes the same run, bits aside."""
    stored = Digest("", old["contacts"], old["sketch"])  # type: ignore[arg-type]
    return (
        new.contacts == stored.contacts
        and new.sketch.keys() == stored.sketch.keys()
        and max(difference(new, stored).values()) <= TOLERANCE
    )
