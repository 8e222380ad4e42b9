"""FCLib: HDF5 files for the exchange of frictional contact problems.

A file holds ``fclib_local`` (W, q, mu) or ``fclib_global`` (M, H, f, w, mu) with ``spacedim`` and
``info``, or ``fclib_global_rolling``, ``fclib_local_rolling`` with five components a contact and ``mu_r``;
and optionally ``solution`` {r, u, v, l} and ``guesses`` {number_of_guesses, 1, 2, …}. Bilateral
rows (V, R, s, or G, b) are eliminated on reading. Files written here use the names and types of the FCLib
library (32-bit integers, doubles, zero-terminated strings), and can be read by it: W by rows as in the
published files, M and H by columns, the only compressed layout that Siconos accepts for them.

FCLib has no fields for direction-dependent friction, couples that resist spinning, or couples in the plane.
Such problems are written in the groups ``clapas_local`` and ``clapas_global``, which other programs do not
mistake for FCLib's: the same layout, with ``couples`` (0 or 1; then
``spacedim`` is 3 in the plane and 6 in space) and, for direction-dependent friction, a group ``section`` with
``vertices`` (n, k, 2), or (n, 2, 1), and ``is_round`` (n,), or with ``axes`` (n, 2), or (n, 1), and ``angle``
(n,).

References
----------
Acary, Brémond, Koziara, Pérignon 2014, *FCLIB: a collection of discrete 3D frictional contact
problems*. ``io.convention`` converts its notation to ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clapas.convex import Ellipses, Polygons
from clapas.convex.section import Section
from clapas.errors import FormatError, ProblemError
from clapas.io import bilateral, convention
from clapas.io.csparse import (
    LARGEST,
    declared_shape,
    integer,
    numbers,
    read_matrix,
    refuse_nonfinite,
    write_compressed,
    write_matrix,
)
from clapas.io.hdf5 import DAMAGE, first_line, reading
from clapas.io.heaps import check_heaps
from clapas.io.record import Info, Kind, ProblemFile, StoredSolution
from clapas.io.texts import attribute, text
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.typing import Array, Indices

GROUPS: dict[Literal["local", "global"], str] = {"global": "fclib_global", "local": "fclib_local"}
OWN_GROUPS: dict[Literal["local", "global"], str] = {"global": "clapas_global", "local": "clapas_local"}
ROLLING_GROUPS: dict[str, Literal["local", "global"]] = {
    "fclib_global_rolling": "global",
    "fclib_local_rolling": "local",
}
ROLLING = 5  # components of a contact that resists rolling
FIVE_OF_SIX = (0, 1, 2, 4, 5)  # their positions among six: spin is omitted
TEXTS = ("title", "description", "math_info")


# -------------------------------------------------------------------- reading


def read(path: Path, *, kind: Kind = "auto", symmetrise: bool = False) -> ProblemFile:
    """Read an FCLib file; see :func:`clapas.io.read`, which also reads text files."""
    import h5py

    check_heaps(path)
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise
    except DAMAGE as error:  # truncated or damaged
        raise FormatError(f"{path}: not a sound HDF5 file ({first_line(error)})") from None
    with reading(str(path)), file:
        return _read(file, path, kind, symmetrise)


def _read(file: Any, path: Path, kind: Kind, symmetrise: bool) -> ProblemFile:
    for name in ROLLING_GROUPS:
        if name in file:
            return _rolling(file, path, name)
    with reading(f"{path}"):
        groups = OWN_GROUPS if any(name in file for name in OWN_GROUPS.values()) else GROUPS
        kind_read, notes = _choose(file, path, kind, groups)
    group = _group(file, groups[kind_read], str(path))
    where = f"{path}: {groups[kind_read]}"
    d = integer(group, "spacedim", where)
    couples = "couples" in group and integer(group, "couples", where) != 0
    expected = (3, 6) if couples else (2, 3)
    if d not in expected:
        raise FormatError(f"{where}: spacedim is {d}, expected {expected[0]} or {expected[1]}")
    law = convention.Law(d, couples, _section(group, where))
    if kind_read == "local":
        problem, problem_notes, n_dof = _local(group, where, path, law, symmetrise)
    else:
        problem, problem_notes, n_dof = _global(group, where, path, law, symmetrise)
    size = (problem.n_contacts, d)
    solution = _stored_solution(file, "solution", path, size, n_dof)
    return ProblemFile(
        problem=problem,
        format="fclib",
        kind=kind_read,
        path=path,
        solution=solution,
        guesses=_guesses(file, path, size, n_dof),
        info=_info(group),
        notes=tuple(notes + problem_notes + _solution_notes(file, solution)),
    )


def _rolling(file: Any, path: Path, name: str) -> ProblemFile:
    """Read contacts that resist rolling: five components each, and a coefficient mu_r beside mu."""
    group, where, kind = file[name], f"{path}: {name}", ROLLING_GROUPS[name]
    d = integer(group, "spacedim", where)
    _expect(d in (3, ROLLING), f"{where}: spacedim is {d}, expected 5 (rolling in space)")
    if kind == "local":
        W = read_matrix(_group(group, "W", where), f"{where}/W")
        n = _contacts(W.shape[0], ROLLING, f"{where}/W")
        _expect(W.shape[0] == W.shape[1], f"{where}/W: {W.shape[0]}×{W.shape[1]}, expected a square matrix")
        q = _vector(group, "q", ROLLING * n, where)
    else:
        M = read_matrix(_group(group, "M", where), f"{where}/M")
        H = read_matrix(_group(group, "H", where), f"{where}/H")
        m, n = M.shape[0], _contacts(H.shape[1], ROLLING, f"{where}/H, columns")
        _expect(M.shape[1] == m, f"{where}/M: {m}×{M.shape[1]}, expected a square matrix")
        _expect(H.shape[0] == m, f"{where}/H: {H.shape[0]} rows, expected {m} (the size of M)")
        f, w = _vector(group, "f", m, where), _vector(group, "w", ROLLING * n, where)
    if "G" in group and read_matrix(_group(group, "G", where), f"{where}/G").shape[1]:
        raise FormatError(f"{where}: bilateral rows (G) beside rolling are not read")
    mu, rolling_mu = _vector(group, "mu", n, where), _vector(group, "mu_r", n, where)
    problem = (
        convention.reduced_rolling(path, W=W, q=q, mu=mu, rolling_mu=rolling_mu)
        if kind == "local"
        else convention.global_rolling(path, M=M, H=H, f=f, w=w, mu=mu, rolling_mu=rolling_mu)
    )
    size, n_dof = (n, ROLLING), m if kind == "global" else 0

    def with_six_rows(stored_rows: StoredSolution) -> StoredSolution:
        r, u = problem.five_rows(stored_rows.r, rolling_mu), stored_rows.u
        if u is not None:  # velocities scale inversely to couples
            u = problem.five_rows(u, 1.0 / np.where(rolling_mu > 0.0, rolling_mu, 1.0))
        return StoredSolution(r=r, u=u, v=stored_rows.v)

    stored = _stored_solution(file, "solution", path, size, n_dof)
    solution = None if stored is None else with_six_rows(stored)
    return ProblemFile(
        problem=problem,
        format="fclib",
        kind=kind,
        path=path,
        solution=solution,
        guesses=tuple(with_six_rows(guess) for guess in _guesses(file, path, size, n_dof)),
        info=_info(group),
        notes=tuple(_solution_notes(file, solution)),
    )


def _choose(
    file: Any, path: Path, kind: Kind, groups: dict[Literal["local", "global"], str]
) -> tuple[Literal["local", "global"], list[str]]:
    present = [name for name, group in groups.items() if group in file]
    if kind == "auto":
        if not present:
            raise FormatError(
                f"{path}: an HDF5 file without 'fclib_local' or 'fclib_global'; "
                f"found {', '.join(sorted(file)) or 'nothing'}"
            )
        both = "the file holds a local and a global problem: the global one was read"
        return present[0], [both] if len(present) == 2 else []
    if kind not in present:
        raise FormatError(f"{path}: no {kind} problem; it holds {' and '.join(present) or 'none'}")
    return kind, []


def _local(
    group: Any, where: str, path: Path, law: convention.Law, symmetrise: bool
) -> tuple[ContactProblem, list[str], int]:
    rows, columns = declared_shape(_group(group, "W", where), f"{where}/W")
    _expect(rows == columns, f"{where}/W: {rows}×{columns}, expected a square matrix")
    q = _vector(group, "q", rows, where)
    mu = _vector(group, "mu", _contacts(rows, law.d, f"{where}/W"), where)
    W = read_matrix(_group(group, "W", where), f"{where}/W")
    notes: list[str] = []
    if "V" in group or "R" in group:
        p = declared_shape(_group(group, "V", where), f"{where}/V")[1]
        s = _vector(group, "s", p, where) if p else np.empty(0)
        V = read_matrix(_group(group, "V", where), f"{where}/V")
        R = read_matrix(_group(group, "R", where), f"{where}/R")
        rows = V.shape[1]
        _expect(
            V.shape[0] == W.shape[0] and R.shape == (rows, rows),
            f"{where}: V is {V.shape[0]}×{rows} and R {R.shape[0]}×{R.shape[1]}, "
            f"expected {W.shape[0]}×p and p×p",
        )
        if rows:
            with convention.naming(path):
                W, q = bilateral.eliminate(W=W, V=V, R=R, q=q, s=s)
            notes.append(_eliminated(rows))
    problem, more = convention.reduced_problem(path, W=W, q=q, mu=mu, law=law, symmetrise=symmetrise)
    return problem, notes + more, 0


def _global(
    group: Any, where: str, path: Path, law: convention.Law, symmetrise: bool
) -> tuple[ContactProblem, list[str], int]:
    m, columns = declared_shape(_group(group, "M", where), f"{where}/M")
    rows, width = declared_shape(_group(group, "H", where), f"{where}/H")
    _expect(columns == m, f"{where}/M: {m}×{columns}, expected a square matrix")
    _expect(rows == m, f"{where}/H: {rows} rows, expected {m} (the size of M)")
    n = _contacts(width, law.d, f"{where}/H, columns")
    f, w, mu = (
        _vector(group, "f", m, where),
        _vector(group, "w", n * law.d, where),
        _vector(group, "mu", n, where),
    )
    M = read_matrix(_group(group, "M", where), f"{where}/M")
    H = read_matrix(_group(group, "H", where), f"{where}/H")
    if "G" in group:
        joints = declared_shape(_group(group, "G", where), f"{where}/G")[1]
        b = _vector(group, "b", joints, where) if joints else np.empty(0)
        G = read_matrix(_group(group, "G", where), f"{where}/G")
        _expect(G.shape[0] == m, f"{where}/G: {G.shape[0]} rows, expected {m} (the size of M)")
        if G.shape[1]:
            M, notes = convention.mass(path, M, symmetrise)
            with convention.naming(path):
                W, q = bilateral.eliminate_global(M=M, H=H, G=G, f=f, w=w, b=b)
            problem, more = convention.reduced_problem(path, W=W, q=q, mu=mu, law=law, symmetrise=symmetrise)
            return problem, [_eliminated(G.shape[1]), *notes, *more], m
    problem, notes = convention.global_problem(
        path, M=M, H=H, f=f, w=w, mu=mu, law=law, symmetrise=symmetrise
    )
    return problem, notes, m


def _section(group: Any, where: str) -> Section | None:
    """The friction sections of a Clapas group, or None."""
    if "section" not in group:
        return None
    stored, where = _group(group, "section", where), f"{where}/section"

    def column(name: str) -> Array:
        with reading(f"{where}/{name}"):
            _expect(name in stored, f"{where}: no '{name}'; found {', '.join(sorted(stored)) or 'nothing'}")
            _expect(hasattr(stored[name], "shape"), f"{where}: '{name}' must be an array")
            values = np.asarray(stored[name])
        _expect(values.dtype.kind in "iufb", f"{where}: '{name}' must be numbers, got {values.dtype}")
        return values

    try:
        if "axes" in stored:
            return Ellipses(column("axes").astype(float), column("angle").astype(float))
        return Polygons(column("vertices").astype(float), column("is_round").astype(bool))
    except ProblemError as error:
        raise FormatError(f"{where}: {error}") from None


def _eliminated(rows: int) -> str:
    return f"{rows} bilateral rows were eliminated: the problem is reduced to its contacts"


def _contacts(rows: int, d: int, where: str) -> int:
    _expect(rows % d == 0, f"{where}: {rows} does not make contacts of {d} components (spacedim)")
    return rows // d


def _group(parent: Any, name: str, where: str) -> Any:
    with reading(f"{where}: '{name}'"):
        _expect(name in parent, f"{where}: no '{name}'; found {', '.join(sorted(parent)) or 'nothing'}")
        _expect(hasattr(parent[name], "keys"), f"{where}: '{name}' must be a group")
        return parent[name]


def _vector(group: Any, name: str, size: int, where: str) -> Array:
    where = f"{where}/vectors"
    values = np.asarray(numbers(_group(group, "vectors", where), name, where), dtype=np.float64)
    _expect(values.size == size, f"{where}: '{name}' has {values.size} values, expected {size}")
    refuse_nonfinite(values, name, where)
    return values


def _stored_solution(
    parent: Any, name: str, path: Path, size: tuple[int, int], n_dof: int
) -> StoredSolution | None:
    where = f"{path}: {parent.name.rstrip('/')}/{name}"
    group = _group(parent, name, where) if name in parent else {}
    if "r" not in group:
        return None

    def stored(key: str, count: int | None) -> Array | None:
        if key not in group:
            return None
        values = np.asarray(numbers(group, key, where), dtype=np.float64)
        _expect(count in (None, values.size), f"{where}: '{key}' has {values.size} values, expected {count}")
        return values

    r, u = stored("r", size[0] * size[1]), stored("u", size[0] * size[1])
    assert r is not None
    return StoredSolution(
        r=r.reshape(size),
        u=None if u is None else u.reshape(size),
        v=stored("v", n_dof) if n_dof else None,
        multipliers=stored("l", None),
    )


def _guesses(file: Any, path: Path, size: tuple[int, int], n_dof: int) -> tuple[StoredSolution, ...]:
    if "guesses" not in file:
        return ()
    group, where = _group(file, "guesses", str(path)), f"{path}: guesses"
    guesses = []
    count = integer(group, "number_of_guesses", where)
    _expect(0 <= count <= len(group), f"{where}: 'number_of_guesses' is {count}, found {len(group) - 1}")
    for number in range(1, count + 1):
        guess = _stored_solution(group, str(number), path, size, n_dof)
        if guess is None:
            raise FormatError(f"{where}: guess '{number}' is announced but has no 'r'")
        guesses.append(guess)
    return tuple(guesses)


def _solution_notes(file: Any, solution: StoredSolution | None) -> list[str]:
    if solution is None:
        return ["the stored solution has no r: left out"] if "solution" in file else []
    if solution.r.size and not solution.r.any():
        return ["the stored solution is r = 0: a placeholder unless every contact opens"]
    return []


def _info(group: Any) -> Info:
    if "info" not in group:
        return Info()
    where = f"{group.name}/info"
    stored = _group(group, "info", group.name)
    with reading(where):
        texts = {name: text(stored, name, where) for name in TEXTS if name in stored}
        attributes = {
            name: value.item()
            for name in stored.attrs
            if (value := np.asarray(attribute(stored, name, where))).size == 1 and value.dtype.kind in "iuf"
        }
    return Info(**texts, attributes=attributes)


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise FormatError(message)


# -------------------------------------------------------------------- writing


def require_writable(path: Path, problem: ContactProblem) -> None:
    """Raise a FormatError where FCLib files cannot hold a problem."""
    if not isinstance(problem.section, Polygons | Ellipses | None):
        raise FormatError(
            f"{path}: files hold sections of friction that are polygons or ellipses, got "
            f"{type(problem.section).__name__}, known by its projection alone; take a polygon near to it"
        )


def write(
    path: Path,
    problem: ContactProblem,
    *,
    solution: StoredSolution | None = None,
    guesses: Sequence[StoredSolution] = (),
    info: Info | None = None,
) -> None:
    """Write a new FCLib file; see :func:`clapas.io.write`, which replaces a file safely.

    The file is built in memory first: HDF5 cannot close a file on a full disk.
    """
    import h5py

    if problem.compliance is not None:
        problem = reduce(problem)  # FCLib has no field for C; W includes it
    kind: Literal["local", "global"] = "local" if problem.form == "reduced" else "global"
    rows: Sequence[int] = range(problem.d)
    rolls = _rolls_only(problem)
    if rolls:
        rows, name = FIVE_OF_SIX, f"fclib_{kind}_rolling"
    elif problem.has_couples or problem.section is not None:
        name = OWN_GROUPS[kind]
    else:
        name = GROUPS[kind]
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        group = file.create_group(name)
        _write_integer(group, "spacedim", len(rows))
        chosen = (problem.d * np.arange(problem.n_contacts)[:, None] + np.array(rows)).ravel()
        if kind == "local":
            vectors = _write_local(group, problem, chosen)
        else:
            vectors = _write_global(group, problem, chosen)
        # Couples are already divided by their lengths, so mu_r = 1.
        lengths = {"mu_r": np.ones(problem.n_contacts)} if rolls else {}
        _write_vectors(group, **vectors, mu=problem.mu, **lengths)
        if name in OWN_GROUPS.values():
            _write_integer(group, "couples", int(problem.has_couples))
            _write_section(group, problem.section)
        _write_info(group.create_group("info"), info or Info())
        if solution is not None:
            _write_solution(file.create_group("solution"), solution, rows)
        if guesses:
            parent = file.create_group("guesses")
            _write_integer(parent, "number_of_guesses", len(guesses))
            for number, guess in enumerate(guesses, start=1):
                _write_solution(parent.create_group(str(number)), guess, rows)
        file.flush()
        path.write_bytes(file.id.get_file_image())


def _rolls_only(problem: ContactProblem) -> bool:
    """Whether couples resist rolling only, in space: FCLib has a layout for these."""
    if not problem.has_couples or problem.d != 6 or (problem.form == "global" and problem.J is not None):
        return False
    return not problem.local_blocks[:, 3, 3].any()


def _write_local(group: Any, problem: ContactProblem, rows: Indices) -> dict[str, Array]:
    """Write W for the chosen rows; return the vectors that go with it."""
    W = problem.W.tocsr()
    write_matrix(group.create_group("W"), W if len(rows) == W.shape[0] else W[rows][:, rows], "rows")
    return {"q": problem.q.ravel()[rows]}


def _write_global(group: Any, problem: ContactProblem, rows: Indices) -> dict[str, Array]:
    """Write M, H and the joints for the chosen rows; return the vectors that go with them."""
    write_matrix(group.create_group("M"), problem.M, "columns")
    H = problem.H if len(rows) == problem.H.shape[0] else problem.H[rows]
    # The file stores Hᵀ: the same three arrays, read as columns.
    write_compressed(group.create_group("H"), (problem.n_dof, len(rows)), H, "columns")
    vectors = {"f": convention.change_sign(problem.f), "w": problem.w.ravel()[rows]}
    if problem.J is not None and problem.b is not None:
        write_compressed(group.create_group("G"), problem.J.shape[::-1], problem.J, "columns")
        vectors["b"] = problem.b
    return vectors


def _write_section(group: Any, section: Any) -> None:
    if section is None:
        return
    stored = group.create_group("section")
    if isinstance(section, Ellipses):
        stored.create_dataset("axes", data=section.axes)
        stored.create_dataset("angle", data=section.angle)
        return
    assert isinstance(section, Polygons)
    is_round = np.zeros(len(section.vertices)) if section.is_round is None else section.is_round
    stored.create_dataset("vertices", data=section.vertices)
    stored.create_dataset("is_round", data=is_round.astype(np.int32))


def _write_integer(group: Any, name: str, value: int) -> None:
    group.create_dataset(name, data=np.array([value], dtype=np.int32))


def _write_vectors(group: Any, **vectors: Array) -> None:
    parent = group.create_group("vectors")
    for name, values in vectors.items():
        parent.create_dataset(name, data=values.ravel())


def _write_solution(group: Any, solution: StoredSolution, rows: Sequence[int]) -> None:
    if solution.v is not None:
        group.create_dataset("v", data=solution.v.ravel())
    for name, values in (("u", solution.u), ("r", solution.r)):
        if values is not None:
            group.create_dataset(name, data=np.ascontiguousarray(values[:, list(rows)]).ravel())


def _write_info(group: Any, info: Info) -> None:
    for name in TEXTS:
        _write_text(group, name, getattr(info, name))
    for name, value in sorted(info.attributes.items()):
        number = np.asarray(value)
        is_int = number.dtype.kind in "iu" and abs(int(number)) <= LARGEST
        group.attrs.create(name, number.reshape(1), dtype=np.int32 if is_int else number.dtype)


def _write_text(group: Any, name: str, text: str) -> None:
    """Write a zero-terminated string: FCLib allocates the stored size and reads that."""
    import h5py

    value = text.replace("\0", "").encode() + b"\0"
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(value))
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)  # identical problems give identical bytes
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    dataset = h5py.h5d.create(group.id, name.encode(), kind, space, properties)
    dataset.write(space, space, np.array(value, dtype=f"S{len(value)}"), kind)
