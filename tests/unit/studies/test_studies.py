"""Studies run from the command line, report as they go, and refuse what they cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.cli import main
from clapas.distributed.launch import launcher
from clapas.errors import MissingDependency, SettingsError
from clapas.studies import registry
from clapas.studies.report import Report

TOO_SHORT = {"heap"}  # its verdicts need a recording of the size printed


@pytest.mark.parametrize("name", registry.names())
def test_a_quick_run_writes_its_report(name: str, tmp_path: Path) -> None:
    if name == "scaling":
        try:
            launcher(2)
        except MissingDependency as missing:
            pytest.skip(str(missing))
    assert main(["study", name, "--quick", "--quiet", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text()
    assert text.startswith(f"# {registry.find(name).title}")
    assert "| " in text
    assert ("![" in text) == bool(list(tmp_path.glob("*.png")))
    if name not in TOO_SHORT:
        assert ("## Printed numbers and verdicts" in text) == (name not in registry.UNPUBLISHED)


def test_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in registry.names())


def test_unknown_studies_and_settings_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["study", "thesis-smal"]) == 2
    assert "did you mean 'thesis-small'" in capsys.readouterr().err
    assert main(["study", "alart", "--set", "loads=1", "--out", str(tmp_path)]) == 2
    assert "loads must be at least 3" in capsys.readouterr().err
    with pytest.raises(SettingsError):
        registry.find("nothing")


def test_what_was_found_is_kept_when_a_study_fails(tmp_path: Path) -> None:
    report = Report(tmp_path, "Half done")
    report.say("One result.")
    with pytest.raises(ZeroDivisionError), report.figure("never", "Not drawn"):
        _ = 1 / 0
    assert (tmp_path / "report.md").read_text() == "# Half done\n\nOne result.\n"
    assert not (tmp_path / "never.png").exists()
