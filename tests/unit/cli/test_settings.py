"""Settings written as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from clapas.cli import settings
from clapas.errors import SettingsError
from clapas.solvers import NSGS, AlartCurnier, Coloured, DeSaxce, Given, Shuffled, registry


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
