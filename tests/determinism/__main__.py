"""Print the digests of the runs, or store them.

    python -m tests.determinism            # digests of all runs, and how far they are from the stored ones
    python -m tests.determinism boxes      # of some
    python -m tests.determinism --plain    # compiled for a processor without fused or wide instructions
    python -m tests.determinism --json     # for other programs
    python -m tests.determinism --write    # store them as the ones to expect: say why in the commit

Run it before a change of the engine and after: the bits of a machine stay as long as the arithmetic does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from tests.determinism.digests import Digest, difference, digest, environment, golden, read, write
from tests.determinism.runs import RUNS


def plain_environment() -> dict[str, str]:
    """Variables that make compiled kernels, NumPy and BLAS do with the oldest instructions of the processor.

    Numba keeps kernels of different processors apart in its cache.
    """
    wide = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return os.environ | {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(wide),
    }


def lines(name: str, made: Digest) -> list[str]:
    """A digest as text, beside the stored one."""
    text = [f"{name}: bits {made.bits}, contacts {made.contacts}"]
    if name not in read():
        return [*text, "  nothing is stored for this run"]
    stored = golden(name)
    same = {"": "not stored for this environment", made.bits: "as stored"}.get(stored.bits, "not as stored")
    apart = ", ".join(f"{column} {size:.1e}" for column, size in difference(made, stored).items())
    touching = "as stored" if made.contacts == stored.contacts else f"not as stored ({stored.contacts})"
    return [*text, f"  bits {same}; contacts {touching}; sums differ by: {apart}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or store digests; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.determinism", description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"some of {', '.join(RUNS)}; all by default")
    parser.add_argument("--plain", action="store_true", help="without fused and wide instructions")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help="store the digests of all runs")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.runs) - set(RUNS)):
        parser.error(f"no run {', '.join(unknown)}; there are {', '.join(RUNS)}")
    if options.write and (options.runs or options.plain):
        parser.error("--write stores all runs, as this processor does them: give no run and no --plain")
    if options.plain:
        command = [sys.executable, "-m", "tests.determinism", *options.runs, *["--json"] * options.json]
        return subprocess.run(command, env=plain_environment(), check=False).returncode
    made = {name: digest(RUNS[name].states(), RUNS[name].portable) for name in options.runs or RUNS}
    if options.json:
        print(json.dumps({name: asdict(one) for name, one in made.items()}))
    else:
        print(environment())
        print("\n".join(line for name, one in made.items() for line in lines(name, one)))
    if options.write:
        write(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
