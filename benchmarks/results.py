"""The rows a benchmark makes and the Markdown they become."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.startup import Startup
from clapas.studies.report import markdown_table

NOTES = """\
Mc/s: million contact updates per second = contacts × sweeps / time (best of the repeats, runs taking turns;
one thread by its own processor time, several by the clock). B/contact: contact data streamed by a sweep,
the write of r included; velocities and impulses looked up elsewhere are not counted. of memory: that traffic
against the reading speed of a flat array of the same size on the same threads. of loop: speed against a loop
that only reads the same data in the same order and adds them up. C: the scalar reference on the same data,
order and threads; ours/C above 1 means clapas is faster. difference: largest difference of the impulses of
clapas and C after {compared} sweeps, relative to the largest impulse. residual: after {measured} sweeps.
held: arrays of the iteration object, bytes per contact."""


@dataclass(frozen=True)
class Row:
    """One form, order, local solver and number of threads on one problem. Rates in contacts per second."""

    contacts: int
    form: str
    order: str
    local: str
    threads: int
    rate: float
    bytes_per_contact: float
    bandwidth: float
    loop_rate: float
    c_rate: float | None
    difference: float | None
    residual: float
    held_bytes: float

    @property
    def of_memory(self) -> float:
        """Fraction of the measured reading speed."""
        return self.rate * self.bytes_per_contact / self.bandwidth

    @property
    def of_loop(self) -> float:
        """Fraction of the speed of a loop that only reads."""
        return self.rate / self.loop_rate

    @property
    def of_c(self) -> float | None:
        """Speed relative to the C reference."""
        return self.rate / self.c_rate if self.c_rate else None


COLUMNS: dict[str, Callable[[Row], str]] = {
    "contacts": lambda row: f"{row.contacts}",
    "form": lambda row: row.form,
    "order": lambda row: row.order,
    "local": lambda row: row.local,
    "threads": lambda row: f"{row.threads}",
    "Mc/s": lambda row: f"{row.rate / 1e6:.1f}",
    "B/contact": lambda row: f"{row.bytes_per_contact:.0f}",
    "GB/s": lambda row: f"{row.rate * row.bytes_per_contact / 1e9:.1f}",
    "memory GB/s": lambda row: f"{row.bandwidth / 1e9:.1f}",
    "of memory": lambda row: f"{row.of_memory:.0%}",
    "loop Mc/s": lambda row: f"{row.loop_rate / 1e6:.1f}",
    "of loop": lambda row: f"{row.of_loop:.0%}",
    "C Mc/s": lambda row: _or_dash(row.c_rate and row.c_rate / 1e6, ".1f"),
    "ours/C": lambda row: _or_dash(row.of_c, ".2f"),
    "difference": lambda row: _or_dash(row.difference, ".0e"),
    "residual": lambda row: f"{row.residual:.2e}",
    "held": lambda row: f"{row.held_bytes:.0f}",
}


def _or_dash(value: float | None, style: str) -> str:
    return "–" if value is None else format(value, style)


def kernel_table(rows: Sequence[Row]) -> str:
    """All the rows as Markdown."""
    return markdown_table(list(COLUMNS), [[show(row) for show in COLUMNS.values()] for row in rows])


def startup_table(startup: Startup) -> str:
    """Seconds before the first answer as Markdown."""
    costs = {field.name.replace("_", " "): getattr(startup, field.name) for field in fields(startup)}
    lines = [[name, f"{cost.processor:.2f}", f"{cost.clock:.2f}"] for name, cost in costs.items()]
    return markdown_table(["in a fresh process", "processor seconds", "clock seconds"], lines)


def write_json(
    path: Path, machine: Machine, compiler: str | None, rows: Sequence[Row], startup: Startup | None
) -> None:
    """Keep everything for machines."""
    content = {
        "machine": asdict(machine),
        "c_compiler": compiler,
        "kernels": [asdict(row) for row in rows],
        "startup": asdict(startup) if startup else None,
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
