"""Read and write contact problems in all supported formats."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import numpy as np

from clapas.errors import FormatError, ProblemError, SettingsError
from clapas.io import convention, fclib, siconos
from clapas.io.hdf5 import require_regular, writable
from clapas.io.record import Info, Kind, ProblemFile, StoredSolution
from clapas.problems import validation
from clapas.problems.contact import ContactProblem

ENDINGS = (".hdf5", ".h5")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read(path: str | os.PathLike[str], kind: Kind = "auto", symmetrise: bool = False) -> ProblemFile:
    """Read a contact problem and the data stored with it.

    The format is recognised by the content: HDF5 in the layout of FCLib, or the text of Siconos.
    An asymmetric W is kept with a warning unless ``symmetrise`` replaces it by ½(W + Wᵀ).

    Parameters
    ----------
    path : path
        The file.
    kind : "auto", "local" or "global"
        What to expect: a reduced problem (W, q), a global one (M, H, f, w), or either.
    symmetrise : bool
        Replace an asymmetric W or M by its symmetric part.

    Raises
    ------
    FormatError
        The file is damaged or of another kind; the message names the place.

    Examples
    --------
    A stack of two boxes on the floor; the residual of the stored solution is measured.

    >>> file = read(shipped("two-blocks.hdf5"))
    >>> file.problem
    ContactProblem('two-blocks', 8 contacts in 3-D, global, 12 dof)
    >>> file.format, file.kind, file.info.title
    ('fclib', 'global', 'Two blocks')
    >>> file.problem.residual(file.solution.r) < 1e-14
    True
    """
    if kind not in get_args(Kind):
        raise SettingsError(f"kind must be 'auto', 'local' or 'global', got {kind!r}")
    path = Path(path)
    require_regular(path)
    reader = fclib.read if _is_hdf5(path) else siconos.read
    return reader(path, kind=kind, symmetrise=symmetrise)


def read_problem(
    path: str | os.PathLike[str], kind: Kind = "auto", symmetrise: bool = False
) -> ContactProblem:
    """Read only the contact problem of a file; see :func:`read`.

    Examples
    --------
    >>> read_problem(shipped("sliding-block.dat"))
    ContactProblem('sliding-block', 1 contact in 3-D, reduced)
    """
    return read(path, kind, symmetrise).problem


def write(
    path: str | os.PathLike[str],
    problem: ContactProblem,
    solution: Any = None,
    guesses: Sequence[Any] = (),
    *,
    title: str | None = None,
    description: str = "",
    math_info: str = "",
    attributes: Mapping[str, int | float] | None = None,
) -> None:
    """Write a contact problem as an FCLib file, readable by the FCLib library and by :func:`read`.

    Writing is atomic: an existing file of the same name is replaced only when the new one is
    complete. The same arguments give the same bytes.

    Parameters
    ----------
    path : path
        The file to write, ending in ``.hdf5`` or ``.h5``: other suffixes are rejected.
    problem : ContactProblem
        Reduced or global; written in that form.
    solution : array (n, d), or anything with ``r`` and perhaps ``u``, ``v``, optional
        A solution to store. If missing, u = W r + q and v = M⁻¹(Hᵀ r − f) are computed.
    guesses : sequence of the same
        Starting points to store.
    title, description, math_info : str
        Texts about the problem. The title defaults to the problem's name.
    attributes : mapping
        Named numbers to store with the texts.

    Examples
    --------
    >>> import tempfile
    >>> problem = ContactProblem(W=np.eye(2), q=[[-1.0, 0.25]], mu=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "drop.hdf5", problem, solution=[[1.0, -0.25]], title="A drop")
    ...     back = read(Path(folder) / "drop.hdf5")
    >>> back.info.title, back.problem.residual(back.solution.r) < 1e-15
    ('A drop', True)
    """
    target = writable(path)
    if target.suffix.lower() not in ENDINGS:
        raise FormatError(
            f"{path}: contact problems are written as HDF5; the name must end in {' or '.join(ENDINGS)}"
        )
    fclib.require_writable(Path(path), problem)
    info = Info(
        title=(problem.name or convention.problem_name(target)) if title is None else title,
        description=description,
        math_info=math_info,
        attributes=attributes or {},
    )
    stored = None if solution is None else _stored_solution(problem, solution)
    starts = [_stored_solution(problem, guess) for guess in guesses]
    with _replacing(target) as partial:
        fclib.write(partial, problem, solution=stored, guesses=starts, info=info)


def shipped(name: str = "") -> Path:
    """Path of a small problem shipped with the package, or of their folder.

    >>> sorted(path.name for path in shipped().iterdir() if not path.name.startswith("hair-"))
    ['disc-column-global.dat', 'disc-column.dat', 'sliding-block.dat', 'two-blocks.hdf5']
    >>> len(list(shipped().glob("hair-*.hdf5")))  # steps of wound strands, see clapas.studies.rods
    12
    """
    return Path(str(resources.files("clapas"))) / "data" / name


def _stored_solution(problem: ContactProblem, source: Any) -> StoredSolution:
    """Solution from an array r, a mapping or an object with r, u, v; missing u and v are computed."""

    def part(name: str, default: Any = None) -> Any:
        return source.get(name) if isinstance(source, Mapping) else getattr(source, name, default)

    r = part("r", source)
    if r is None:
        raise ProblemError("a solution to be written needs its impulses r: give the array, or r=…")
    r, u = problem.impulse(r), part("u")
    n, d = problem.n_contacts, problem.d
    u = problem.velocity(r) if u is None else validation.contact_vector("u", u, n, d, finite=False)
    if problem.form == "reduced":
        return StoredSolution(r=r, u=u)
    v = part("v")
    v = problem.motion(r) if v is None else np.asarray(v, dtype=np.float64).reshape(-1)
    if v.shape != (problem.n_dof,):
        raise ProblemError(f"v has {v.size} values, expected {problem.n_dof}, one per degree of freedom")
    return StoredSolution(r=r, u=u, v=v)


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Context with a new file beside the target, which replaces it on success only."""
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _is_hdf5(path: Path) -> bool:
    """Recognise HDF5 by its signature, at the start or at 512, 1024, 2048, … (behind a user block)."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        offset = 0
        while offset < size:
            file.seek(offset)
            if file.read(len(SIGNATURE)) == SIGNATURE:
                return True
            offset = max(512, 2 * offset)
    return False
