"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

import clapas
from clapas.compiled import config


@dataclass(frozen=True)
class Machine:
    """Processor, software and how busy the machine was."""

    processor: str
    cores: int
    caches: str
    system: str
    python: str
    numpy: str
    numba: str
    clapas: str
    vectors: str
    threading: str
    load: float

    def lines(self) -> list[str]:
        """As text, one fact per line."""
        return [
            f"processor: {self.processor}, {self.cores} cores; caches: {self.caches}",
            f"software: {self.system}, Python {self.python}, NumPy {self.numpy}, Numba {self.numba} "
            f"({self.vectors}, threads by {self.threading}), clapas {self.clapas}",
            f"load when started: {self.load:.2f} busy processes",
        ]


def describe() -> Machine:
    """Look at the machine."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        caches=_caches() or "unknown",
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=np.__version__,
        numba=numba.__version__,
        clapas=clapas.__version__,
        vectors=_vectors(),
        threading=str(config.THREADING_LAYER),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan"),
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _caches() -> str:
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def _vectors() -> str:
    """Processor the compiler aims at and the widest vectors it may use."""
    from llvmlite import binding  # type: ignore[import-untyped]

    features = binding.get_host_cpu_features()
    widest = next((name for name in ("avx512f", "avx2", "avx", "neon") if features.get(name)), "baseline")
    return f"{binding.get_host_cpu_name()}, {widest}"
