"""The benchmark of threads: both numbers go on from one state, and the first row is the measure."""

from __future__ import annotations

import pytest
from benchmarks import packings, threads


def test_a_table_of_two_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(packings, "PUSHES", 40)
    monkeypatch.setattr(packings, "MOST", 40)
    monkeypatch.setattr(threads, "BATCH", 2)
    monkeypatch.setattr(threads, "UNTIMED", 2)
    assert threads.main(["--spheres", "40", "--threads", "1,2", "--rounds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, second = (line.split("|")[1:-1] for line in lines[-2:])
    assert first[0].strip() == "1"
    assert [word.strip() for word in first[3:]] == ["1.00", "1.00"]
    assert second[0].strip() == "2"
    assert float(second[2]) >= float(second[1]) > 0.0
