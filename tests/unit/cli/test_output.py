"""How answers are printed."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from clapas.cli import output
from clapas.errors import WriteError


def test_json_has_no_nan_and_no_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json(
        {
            "nan": math.nan,
            "limit": np.float64(np.inf),
            "array": np.array([[1.0, -np.inf], [2.0, 3.0]]),
            "pair": (np.int64(1), None),
            "path": Path("folder") / "file",
            "sizes": {6: 2},
        }
    )
    assert json.loads(capsys.readouterr().out) == {
        "nan": None,
        "limit": None,
        "array": [[1.0, None], [2.0, 3.0]],
        "pair": [1, None],
        "path": str(Path("folder") / "file"),
        "sizes": {"6": 2},
    }


def test_rows_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_rows([("a", "one\ntwo"), ("long", ""), ("b", "x")])
    assert capsys.readouterr().out == "a      one\n       two\nlong   \nb      x\n"


def test_tables_keep_brackets_and_long_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("name", "what"), [("x", "[bold]" + 50 * " word"), ("y", "[0, 1[")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].split()[:2] == ["x", "[bold]"]
    assert lines[2].split() == ["y", "[0,", "1["]


def test_a_full_disk_is_told_with_the_name_of_the_file() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as told, output.writing(Path("run.png")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert told.value.filename == "run.png"
    with (
        pytest.raises(WriteError, match=r"run\.h5: another process writes it"),
        output.writing(Path("run.png")),
    ):
        raise WriteError("run.h5: another process writes it")
