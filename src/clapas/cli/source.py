"""Sources of a problem: a file, the gallery, or the examples shipped with the package.

* ``path/to/problem.hdf5`` is a file;
* ``gallery:painleve-up-two`` a problem of the gallery, with its known solutions;
* ``example:two-blocks`` a file shipped with the package.
"""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from clapas.cli import output
from clapas.errors import Error, FormatError, ProblemError, SettingsError

if TYPE_CHECKING:
    from clapas.io import ProblemFile
    from clapas.io.lcp import LCPFile
    from clapas.problems import ContactProblem
    from clapas.problems.gallery import GalleryProblem

FILE_HELP = "A file, gallery:NAME or example:NAME."
GALLERY, EXAMPLE = "gallery:", "example:"
# Contents of files with other suffixes, and the command for each.
OTHERS = {
    **dict.fromkeys((".obj", ".stl", ".ply", ".gltf", ".glb", ".dxf"), ("blocks", "masonry")),
    **dict.fromkeys((".toml", ".yaml", ".yml"), ("a scene", "run")),
    **dict.fromkeys((".urdf", ".xml"), ("a robot", "run")),
}


OF_LCP = (".npz", ".mtx")  # suffixes used only by linear complementarity problems


class HoldsLCP(ProblemError):
    """A file with a linear complementarity problem where a contact problem was expected."""

    def __init__(self, name: str, file: LCPFile) -> None:
        self.file = file
        super().__init__(
            f"{name} holds a linear complementarity problem, {file.whole or file.problem!r}, not a contact "
            f"problem: '{output.typed('lcp', name)}' solves it"
        )


class Kind(StrEnum):
    """What a file is expected to hold."""

    AUTO = "auto"
    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True)
class Source:
    """A problem with its origin.

    Exactly one of ``file`` (the file it was read from) and ``entry`` (its gallery entry) is set.
    """

    name: str
    problem: ContactProblem
    file: ProblemFile | None = None
    entry: GalleryProblem | None = None
    notes: tuple[str, ...] = ()


def load(name: str, kind: Kind = Kind.AUTO, symmetrise: bool = False) -> Source:
    """Read the problem that ``name`` points to."""
    if name.startswith(GALLERY):
        if kind is not Kind.AUTO or symmetrise:
            raise SettingsError(f"--kind and --symmetrise tell how to read a file; {name} is not one")
        return _from_gallery(name)
    return _from_file(name, kind, symmetrise)


def _from_gallery(name: str) -> Source:
    from clapas.problems import gallery

    entry = gallery.get(name.removeprefix(GALLERY))
    return Source(name, entry.problem, entry=entry)


def _from_file(name: str, kind: Kind, symmetrise: bool) -> Source:
    from clapas import io

    path = _example(name.removeprefix(EXAMPLE)) if name.startswith(EXAMPLE) else _existing(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            file = io.read(path, kind=kind.value, symmetrise=symmetrise)
        except FormatError:
            _refuse_lcp(name, path)
            raise
    # Reader and problem both report an asymmetric matrix: keep one note.
    messages = [str(warning.message) for warning in caught]
    more = tuple(text for text in messages if not text.startswith(file.notes))
    return Source(name, file.problem, file=file, notes=file.notes + more)


def _refuse_lcp(name: str, path: Path) -> None:
    """Raise HoldsLCP if a file without a contact problem holds an LCP."""
    from clapas.io.lcp import read_lcp

    try:
        lcp = read_lcp(path)
    except Error:
        if path.suffix.lower() in OF_LCP:
            raise  # report its error as an LCP file
        return
    raise HoldsLCP(name, lcp)


def examples() -> dict[str, Path]:
    """The shipped files by name without suffix."""
    from clapas.io import shipped

    return {path.stem: path for path in sorted(shipped().iterdir()) if not path.name.startswith(("_", "."))}


def _example(name: str) -> Path:
    known = examples()
    by_file_name = {path.name: path for path in known.values()}
    found = (known | by_file_name).get(name)
    if found is None:
        raise ProblemError(f"no example is called '{name}': expected one of {', '.join(known)}")
    return found


def _existing(name: str) -> Path:
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(f"'{name}' is a folder: give the file of a problem")
    if not path.exists():
        raise FileNotFoundError(f"there is no file '{name}'{_hint(name)}")
    if path.suffix.lower() in OTHERS:
        what, command = OTHERS[path.suffix.lower()]
        typed = output.typed(command, name)
        raise ProblemError(f"{name} holds {what}, not a contact problem: '{typed}' takes it")
    return path


def _hint(name: str) -> str:
    from clapas.problems import gallery

    offered = {EXAMPLE: list(examples()), GALLERY: list(gallery.names())}
    wanted = Path(name).stem
    near = [
        prefix + match
        for prefix, names in offered.items()
        for match in difflib.get_close_matches(wanted, names, n=1, cutoff=0.8)
    ]
    return f": did you mean {' or '.join(near)}?" if near else ""
