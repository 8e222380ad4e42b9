"""Pictures that the system does not let be finished leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clapas.errors import WriteError
from clapas.io.pictures import save_figure

figures = pytest.importorskip("matplotlib.figure")
resource = pytest.importorskip("resource")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writes beyond fail, as they do on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("before", [None, b"an older one"])
def test_a_picture_is_whole_or_absent(ending: str, before: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    if before is not None:
        path.write_bytes(before)
    figure = figures.Figure()
    figure.subplots().plot([1, 2])
    save_figure(figure, path.with_stem("b"), 50)  # fonts are read and kept
    with files_of_at_most(100), pytest.raises(WriteError, match=f"a{ending}: File too large"):
        save_figure(figure, path, 50)
    assert not path.exists()


def test_an_older_file_that_cannot_be_opened_stays(tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    with pytest.raises(IsADirectoryError):
        save_figure(figures.Figure(), tmp_path / "a.png", 50)
    assert (tmp_path / "a.png").is_dir()
