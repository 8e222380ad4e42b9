"""``clapas solvers``: the methods and their settings."""

from __future__ import annotations

from clapas.solvers import registry

from .conftest import Run


def test_the_table_names_every_solver_and_its_settings(run: Run) -> None:
    text = run("solvers").out
    for entry in registry.entries():
        assert f"{entry.name}\n  {entry.summary}\n  {entry.when}\n" in text
    for setting in ("tol", "max_iterations", "local.projections", "order.seed"):
        assert f"\n{setting} " in text


def test_json(run: Run) -> None:
    solvers = {entry["name"]: entry for entry in run("solvers", "--json").document["solvers"]}
    assert set(solvers) == set(registry.names())
    rows = {row["name"]: row for row in solvers["nsgs"]["settings"]}
    assert rows["local"] == {
        "name": "local",
        "default": "exact",
        "accepts": "exact or alart-curnier or de-saxce",
    }
    assert rows["order"]["default"] == "auto"
    assert rows["time_limit"]["default"] == "inf"


def test_one_solver_is_explained(run: Run) -> None:
    text = run("solvers", "nsgs").out
    assert "A sweep visits each contact" in text


def test_an_unknown_solver(run: Run) -> None:
    outcome = run("solvers", "ngs")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean 'nsgs'?" in outcome.err
