"""The benchmark of the heap: cones at rest while grains arrive, with and without sleep, a projection."""

from __future__ import annotations

import pytest
from benchmarks import heap, packings


def test_costs_and_projection(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(packings, "PUSHES", 30)
    monkeypatch.setattr(packings, "MOST", 20)
    monkeypatch.setattr(heap, "UNTIMED", 2)
    assert heap.main(["--grains", "50", "--steps", "2", "--threads", "1", "--sleeping", "1e-2"]) == 0
    awake, asleep = capsys.readouterr().out.split("Sleeping(speed=0.01")
    for part in (awake, asleep):
        assert part.count("|     50 |") == 1
        assert "the printed run, 360000 steps" in part


def test_the_projection_reads_between_the_sizes_measured() -> None:
    one_size = [heap.Cost(heap.PRINTED_GRAINS, 0.0, 0.0, 0.0, 2.0, 0.0)]
    seconds = heap.projected(one_size)
    filling = heap.PRINTED_GRAINS / heap.RATE / heap.DT  # steps until the last grain arrives
    assert filling < heap.PRINTED_STEPS
    assert seconds == pytest.approx(2.0 * (heap.PRINTED_STEPS - filling / 2), rel=1e-3)
