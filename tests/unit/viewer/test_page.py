"""The built page: made from the sources beside it, and complete in itself."""

from __future__ import annotations

import hashlib
import re

import pytest

from clapas.viewer.server import page
from tests.conftest import REPOSITORY

SOURCES = REPOSITORY / "viewer"


def test_it_was_built_from_these_sources() -> None:
    if not SOURCES.is_dir():
        pytest.skip("the sources of the page are in the repository only")
    digest = hashlib.sha256()
    for path in sorted((SOURCES / "src").iterdir(), key=lambda path: path.name):
        digest.update(path.read_bytes())
    digest.update((SOURCES / "package-lock.json").read_bytes())
    found = re.search(r'<meta name="sources" content="(\w+)">', page())
    assert found is not None
    assert found[1] == digest.hexdigest(), "the page is older than its sources: run 'make viewer'"


def test_it_asks_for_nothing_outside() -> None:
    text = page()
    assert not re.findall(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["'](?!data:)""", text)
    addresses = set(re.findall(r"https?://[\w.]+", text))
    assert addresses <= {"http://www.w3.org", "https://www.w3.org"}, addresses


def test_it_carries_the_licence_of_what_it_is_made_of() -> None:
    assert "three.js authors" in page()
    assert "Permission is hereby granted" in page()


def test_it_is_small() -> None:
    assert len(page()) < 1_000_000
