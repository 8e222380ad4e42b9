"""Texts in HDF5 files, of fixed and variable length, in files with checksums and without."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from clapas.errors import FormatError
from clapas.io.lcp import read_lcp
from clapas.io.recording import Recording, is_recording
from clapas.io.texts import attribute, text
from clapas.problems.relay import Relay

FORMS = {"old": ("earliest", "v108"), "new": ("v110", "v110")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("word", ["dual", "", "μ" * 700])
def test_texts_that_are_data_sets(form: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "words.h5"
    with h5py.File(path, "w", libver=FORMS[form]) as file:
        file["other"], file["free"] = "something before", word
        file["fixed"], file["row"] = np.bytes_(word.encode()), np.array([word.encode()])
        file["none"] = h5py.Empty("S5")
    with h5py.File(path) as file:
        for name in ("free", "fixed", "row"):
            assert text(file, name, "here") == word
        assert text(file, "other", "here") == "something before"
        with pytest.raises(FormatError, match="here: 'none' is empty"):
            text(file, "none", "here")


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "words.h5"
    with h5py.File(path, "w") as file:
        file["number"], file["two"] = 3.0, ["a", "b"]
        file.create_dataset("sequence", (1,), h5py.vlen_dtype(np.float64))[0] = np.arange(3.0)
    with h5py.File(path) as file:
        for name in ("number", "two"):
            with pytest.raises(FormatError, match=f"here: '{name}' must be a text, found"):
                text(file, name, "here")
        assert "\x00" in text(file, "sequence", "here")  # its first bytes: nothing is copied beyond them


def test_attributes_of_variable_length_need_checksums(tmp_path: Path) -> None:
    for form, libver in FORMS.items():
        with h5py.File(tmp_path / f"{form}.h5", "w", libver=libver) as file:
            file.attrs["free"], file.attrs["fixed"], file.attrs["number"] = "word", np.bytes_(b"word"), 3
    with h5py.File(tmp_path / "new.h5") as new, h5py.File(tmp_path / "old.h5") as old:
        assert attribute(new, "free", "here") == "word"
        assert attribute(old, "free", "here") is None
        for file in (old, new):
            assert attribute(file, "fixed", "here") == b"word"
            assert attribute(file, "number", "here") == 3
            assert attribute(file, "nothing", "here") is None


def test_a_relay_of_another_program(tmp_path: Path) -> None:
    """Its kind is read in both forms; its name, an attribute, where it can be trusted."""
    for form, libver in FORMS.items():
        path = tmp_path / f"{form}.hdf5"
        with h5py.File(path, "w", libver=libver) as file:
            file.attrs["name"] = "motor"
            file["M"], file["q"] = np.eye(2), np.array([-5.0, 1.0])
            file["lower"], file["upper"], file["kind"] = np.array([0.0, -1.0]), np.array([1.0, 1.0]), "dual"
        found = read_lcp(path)
        assert isinstance(found.whole, Relay)
        assert found.whole.kind == "dual"
        assert found.problem.name == ("motor" if form == "new" else "old")


def test_a_recording_of_the_old_form_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "clapas recording"
    assert not is_recording(path)
    with pytest.raises(FormatError, match="not a recording"):
        Recording(path)
