"""Settings written as text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from clapas.cli import settings
from clapas.errors import SettingsError
from clapas.solvers import (
    NSGS,
    AlartCurnier,
    Broyden,
    Coloured,
    ConicFixedPoint,
    DeSaxce,
    DeSaxceFixedPoint,
    Given,
    Haslinger,
    LevenbergMarquardt,
    ProjectedGradient,
    SemismoothNewton,
    Shuffled,
    registry,
)
from clapas.solvers.backends import Clarabel
from clapas.solvers.convex import Fallback, SpectralGradient
from clapas.solvers.fixed_point import Newton, Picard
from clapas.solvers.fixed_point.base import default_inner
from clapas.solvers.newton import GoldsteinPrice, JeanMoreauMap, NaturalMap
from clapas.solvers.steps import FixedStep


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], NSGS()),
        (["tol=1e-10", "max_iterations=7"], NSGS(tol=1e-10, max_iterations=7)),
        (["max-iterations = 7"], NSGS(max_iterations=7)),
        (["time_limit=inf"], NSGS()),
        (["form=delassus"], NSGS(form="delassus")),
        (["local=alart-curnier"], NSGS(local=AlartCurnier())),
        (["local=de_saxce", "local.projections=4"], NSGS(local=DeSaxce(projections=4))),
        (["order=auto"], NSGS()),
        (["order=given"], NSGS(order=Given())),
        (["order.seed=5", "order=shuffled"], NSGS(order=Shuffled(seed=5))),
        (["order=coloured", "order.threads=2"], NSGS(order=Coloured(threads=2))),
        (["order=coloured", "order.threads=auto"], NSGS(order=Coloured())),
    ],
)
def test_texts_make_the_solver(texts: list[str], expected: NSGS) -> None:
    assert settings.make("nsgs", texts, {"tol": None}) == expected


@pytest.mark.parametrize(
    ("name", "texts", "expected"),
    [
        ("conic-fixed-point", ["scheme=picard"], ConicFixedPoint(scheme=Picard())),
        (
            "conic-fixed-point",
            ["scheme=newton", "scheme.halvings=3"],
            ConicFixedPoint(scheme=Newton(halvings=3)),
        ),
        ("haslinger", ["scheme=broyden"], Haslinger(scheme=Broyden())),
        (
            "conic-fixed-point",
            ["inner=projected-gradient", "inner.max_iterations=250", "accuracy=1e-10"],
            ConicFixedPoint(inner=ProjectedGradient(max_iterations=250), accuracy=1e-10),
        ),
        (
            "haslinger",
            [
                "inner=fallback",
                "inner.first=spectral-gradient",
                "inner.second=clarabel",
                "inner.second.form=norm",
            ],
            Haslinger(inner=Fallback(first=SpectralGradient(), second=Clarabel(form="norm"))),
        ),
        (
            "semismooth-newton",
            ["function=jean-moreau", "line_search=goldstein-price"],
            SemismoothNewton(function=JeanMoreauMap(), line_search=GoldsteinPrice()),
        ),
        ("levenberg-marquardt", ["function=natural"], LevenbergMarquardt(function=NaturalMap())),
        (
            "de-saxce-fixed-point",
            ["step=fixed-step", "step.relative=no"],
            DeSaxceFixedPoint(step=FixedStep(rho=1.0, relative=False)),
        ),
    ],
)
def test_every_variant_of_a_method_has_a_name(name: str, texts: list[str], expected: Any) -> None:
    assert settings.make(name, texts, {}) == expected


def test_the_default_part_takes_other_settings() -> None:
    made = settings.make("conic-fixed-point", ["inner.largest=7"], {})
    assert made == ConicFixedPoint(inner=replace(default_inner(), largest=7))


def test_no_setting_names_a_protocol() -> None:
    for entry in registry.entries():
        for key, _, words in settings.describe(entry.solver):
            assert not {"scheme", "convex-solver", "contact-map", "line-search", "step-rule"} & set(
                words.split()
            ), f"{entry.name}: {key} may be {words}"


def test_common_options_join_the_texts() -> None:
    made = settings.make("nsgs", ["relaxation=0.5"], {"tol": 1e-3, "time_limit": 2.0, "max_iterations": None})
    assert made == NSGS(relaxation=0.5, tol=1e-3, time_limit=2.0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["tol"], "--set needs KEY=VALUE, got 'tol'"),
        (["=3"], "--set needs KEY=VALUE"),
        (["tol="], "--set needs KEY=VALUE"),
        (["tol=1", "tol=2"], "tol is set twice: 1 and 2"),
        (["tol=small"], "tol must be a number, got 'small'"),
        (["max_iterations=1.5"], "max_iterations must be an integer, got '1.5'"),
        (["form=round"], "form must be auto or bodies or delassus, got 'round'"),
        (["local=newton"], "local must be exact or alart-curnier or de-saxce, got 'newton'"),
        (["local=auto"], "local must be exact"),
        (["order.seed=1"], "set order first .order may be given or shuffled or coloured"),
        (["order=auto", "order.seed=1"], "set order first"),
        (["local.projections=1"], "local=exact has no setting 'projections': it has none"),
        (["order=shuffled", "order.sed=1"], r"order=shuffled has no setting 'sed' \(did you mean seed\?\)"),
        (["order=coloured", "order.threads=0"], "threads must be at least 1"),
        (["order=coloured", "order.threads=two"], "threads must be auto or an integer"),
        (["tol.inner=1"], "tol may be nothing"),
        (["colour=red"], "nsgs has no setting 'colour': it has tol, max_iterations"),
    ],
)
def test_wrong_texts(texts: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings.make("nsgs", texts, {})


@dataclass(frozen=True, kw_only=True)
class Part:
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A solver with every kind of setting."""

    flag: bool = False
    word: str = "w"
    mode: Literal["a", "b"] | None = None
    part: Part = field(default_factory=Part)


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("whole", Whole, "", "")
    monkeypatch.setattr(registry, "_BY_NAME", {"whole": entry})


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["flag=Yes"], {"flag": True}),
        (["flag=false"], {"flag": False}),
        (["word=x=y"], {"word": "x=y"}),
        (["mode=b"], {"mode": "b"}),
        (["mode=auto"], {"mode": None}),
        (["part.depth=3"], {"part": Part(depth=3)}),
    ],
)
def test_every_kind_of_setting(texts: list[str], expected: dict[str, Any]) -> None:
    assert settings.make("whole", texts, {}) == Whole(**expected)


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("common", ["tol", "time_limit"])
def test_common_options_that_a_solver_lacks(common: str) -> None:
    with pytest.raises(SettingsError, match=f"whole has no setting '{common}'"):
        settings.make("whole", [], {common: 1.0})


def test_description_of_every_kind_of_setting() -> None:
    assert settings.describe(Whole) == [
        ("flag", "False", "true or false"),
        ("word", "w", "text"),
        ("mode", "auto", "auto or a or b"),
        ("part", "part", "part"),
        ("part.depth", "1", "an integer (with part=part)"),
    ]
