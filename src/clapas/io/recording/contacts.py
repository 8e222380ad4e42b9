"""Contacts of a recorded step: bodies, forces and modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from clapas.errors import MissingDependency, OutOfRange, unknown_name
from clapas.geometry.colliders import Contacts
from clapas.typing import Array, Indices

MODES = ("open", "sticking", "sliding")
SHOWN = 20  # rows of a printed table


@dataclass(frozen=True, repr=False)
class RecordedContacts(Contacts):
    """Contacts of a step with their forces and modes.

    Parameters
    ----------
    force : array (n, d)
        Force on body b in world axes, mean over the step (N).
    mode : array (n,)
        0 open, 1 sticking, 2 sliding.
    names : sequence of str
        Names of all bodies; "" for bodies without one.
    """

    force: Array = field(default_factory=lambda: np.empty(0))
    mode: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    names: Sequence[str] = ()

    @cached_property
    def normal_force(self) -> Array:
        """Normal parts of the forces (N), (n,)."""
        return np.asarray(np.sum(self.force * self.normal, axis=1))

    def number(self, body: int | str) -> int:
        """Number of a body from its name or its number."""
        if isinstance(body, str):
            if body not in self.names:
                raise unknown_name("body", body, [name for name in self.names if name])
            return self.names.index(body)
        if not 0 <= body < len(self.names):
            raise OutOfRange(f"there is no body {body}: bodies are numbered 0 to {len(self.names) - 1}")
        return int(body)

    def on(self, body: int | str, other: int | str | None = None) -> Array:
        """Sum of the contact forces on a body, from all bodies or from one (N), (d,)."""
        one = self.number(body)
        is_a, is_b = self.a == one, self.b == one
        if other is not None:
            two = self.number(other)
            is_a, is_b = is_a & (self.b == two), is_b & (self.a == two)
        return np.asarray(self.force[is_b].sum(axis=0) - self.force[is_a].sum(axis=0))

    def table(self) -> Table:
        """One row per contact: bodies, normal and friction force (N), gap (m), status; strongest first.

        Examples
        --------
        >>> from clapas.scenes import examples
        >>> from clapas.io.simulation import simulate
        >>> with simulate(examples.load("sliding-block", mu=0.4), 0.1) as run:
        ...     table = run.frame(-1).contacts.table()
        >>> table.columns
        ('a', 'b', 'normal_force', 'friction_force', 'gap', 'status')
        >>> table[0]["status"]
        'sliding'
        """
        tangential = self.force - self.normal_force[:, None] * self.normal
        order = np.argsort(-self.normal_force, kind="stable")
        label = [name or str(k) for k, name in enumerate(self.names)]
        return Table(
            {
                "a": [label[k] for k in self.a[order].tolist()],
                "b": [label[k] for k in self.b[order].tolist()],
                "normal_force": self.normal_force[order].tolist(),
                "friction_force": np.linalg.norm(tangential, axis=1)[order].tolist(),
                "gap": self.gap[order].tolist(),
                "status": [MODES[k] for k in self.mode[order].tolist()],
            }
        )


class Table(Sequence[Mapping[str, Any]]):
    """Rows with named columns, printed aligned; ``to_pandas()`` where pandas is installed.

    >>> Table({"name": ["left", "right"], "force": [1.0, 2.5]})
    name   force
    left       1
    right    2.5
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: list(values) for name, values in columns.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, row: Any) -> Any:
        """A row by its number, or a column by its name."""
        if isinstance(row, str):
            if row not in self._columns:
                raise unknown_name("column", row, self._columns)
            return self._columns[row]
        if isinstance(row, slice):
            return Table({name: values[row] for name, values in self._columns.items()})
        if not -len(self) <= row < len(self):
            raise OutOfRange(f"there is no row {row}: the table has {len(self)}")
        return {name: values[row] for name, values in self._columns.items()}

    def to_pandas(self) -> Any:
        """The table as a DataFrame of pandas."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingDependency("pandas", "tables", "A table as a DataFrame") from None
        return pandas.DataFrame(self._columns)

    def _cells(self) -> list[list[str]]:
        def written(value: Any) -> str:
            return f"{value:.5g}" if isinstance(value, float) else str(value)

        shown = range(min(len(self), SHOWN))
        return [[written(values[k]) for values in self._columns.values()] for k in shown]

    def __repr__(self) -> str:
        cells = self._cells()
        names = list(self._columns)
        widths = [max(len(row[k]) for row in [names, *cells]) for k in range(len(names))]
        is_number = [bool(values) and isinstance(values[0], int | float) for values in self._columns.values()]
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, is_number, strict=True)
            ).rstrip()
            for row in [names, *cells]
        ]
        if len(self) > SHOWN:
            lines.append(f"… {len(self) - SHOWN} rows more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        more = f"<p>… {len(self) - SHOWN} rows more</p>" if len(self) > SHOWN else ""
        return f"<table><tr>{head}</tr>{body}</table>{more}"
