"""The model of scale: it gives back the costs of which samples are made."""

from __future__ import annotations

import pytest

from clapas.errors import SettingsError
from clapas.studies.scaling import PROPORTIONAL, Costs, Sample, Scaling, amount, calls, fitted

MADE = Costs(
    unit={"share": 1e-7, "detect": 1e-6, "rest": 2e-6, "assemble": 5e-7, "sweep": 3e-8, "judge": 2e-7},
    call=dict.fromkeys(PROPORTIONAL, 1e-4),
    contacts=2.5,
    sweeps=60.0,
    reference=32_000.0,
    growth=0.25,
    face=2.0,
    collectives=0.7,
    latency=2e-6,
    bandwidth=1e10,
)


def made(ranks: int, grains: int) -> Sample:
    """What would be measured if the model were true."""
    n, sweeps = grains / ranks, MADE.swept(grains)
    of: Sample = {"ranks": ranks, "grains": grains, "bodies": n, "contacts": 2.5 * n, "sweeps": sweeps}
    faces = {1: 0, 2: 1, 4: 2, 8: 3}[ranks]
    of |= {"copies": MADE.face * faces * n ** (2 / 3), "collectives": 0.7 * sweeps}
    of["phases"] = {
        phase: MADE.unit[phase] * amount(of, phase) + MADE.call[phase] * calls(of, phase)
        for phase in PROPORTIONAL
    }
    return of | {"own": sum(of["phases"].values())}


def test_the_fit_gives_back_the_costs() -> None:
    samples = [made(1, n) for n in (2_000, 8_000, 32_000)] + [made(p, 32_000) for p in (2, 4, 8)]
    found = fitted(samples, MADE.latency, MADE.bandwidth)
    for name in ("contacts", "sweeps", "growth", "face", "collectives"):
        assert getattr(found, name) == pytest.approx(getattr(MADE, name))
    for phase in PROPORTIONAL:
        assert found.unit[phase] == pytest.approx(MADE.unit[phase], rel=1e-6)
        assert found.call[phase] == pytest.approx(MADE.call[phase], rel=1e-6)
    for sample in samples:  # also of several ranks, which the coefficients of work have not seen
        assert sum(found.work(sample).values()) == pytest.approx(sample["own"], rel=1e-6)


def test_limits_of_scale() -> None:
    """Few ranks share all work; with very many, what they do not share is left."""
    alone, few, many = (MADE.step(1e7, p) for p in (1, 10, 1e5))
    assert "border" not in alone
    assert sum(few.values()) == pytest.approx(sum(alone.values()) / 10, rel=0.05)
    apart = many["border"] + many["collectives"] + many["calls"]
    assert apart > 0.5 * sum(many.values())
    assert many["collectives"] == pytest.approx(
        0.7 * MADE.swept(1e7) * (2e-6 * 16.6096 + 32 * 1e5 / 1e10), rel=1e-4
    )


@pytest.mark.parametrize("wrong", [{"grains": ()}, {"ranks": (1,)}, {"steps": 0}, {"latency": 0.0}])
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="must be"):
        Scaling(**wrong)  # type: ignore[arg-type]
