"""The registry, and what every entry claims of itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery
from clapas.problems.gallery.entry import (
    EXISTS,
    NO_SOLUTION,
    Continuum,
    GalleryProblem,
    Known,
    in_cones,
    only,
)

NAMES = gallery.names()
MODEST = [name for name in NAMES if not re.search(r"-by-|0000$", name)]


def test_names_are_unique_words_joined_by_hyphens():
    assert len(NAMES) == len(set(NAMES)) == sum(len(gallery.names(family)) for family in gallery.families())
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name) for name in NAMES)


@pytest.mark.parametrize(
    "name",
    [
        "one-no-friction",
        "one-slide",
        "block-on-floor",
        "near-singular",
        "mass-ratio-1e6",
        "painleve-down-none",
        "no-contact",
    ],
)
def test_hard_families_are_present(name: str):
    assert name in NAMES


@pytest.mark.parametrize("name", MODEST)
def test_entry_is_what_it_says(name: str):
    entry = gallery.get(name)
    assert entry.name == entry.problem.name == name
    assert entry.description.endswith(".")
    for r in entry.known.samples:
        assert r.shape == (entry.problem.n_contacts, entry.problem.d)
        assert in_cones(r, entry.problem.mu, 1e-12 * max(1.0, np.abs(r).max(initial=0.0)))
        assert entry.problem.residual(r) < entry.known.precision
        assert entry.recognises(r) is True


@pytest.mark.parametrize("name", MODEST)
def test_membership_refuses_what_the_judge_refuses(name: str):
    entry = gallery.get(name)
    random = np.random.default_rng(5)
    bases = entry.known.samples or (np.zeros((entry.problem.n_contacts, entry.problem.d)),)
    size = max(np.abs(r).max(initial=0.0) for r in bases) or 1.0
    for base in bases[:5]:
        for _ in range(5):
            r = base + 0.3 * size * random.standard_normal(base.shape)
            if entry.problem.residual(r) > 1e-3:
                assert entry.recognises(r) is not True


def test_generic_shift_is_refused_by_every_complete_list():
    for name in MODEST:
        entry = gallery.get(name)
        if entry.known.complete and entry.problem.n_contacts:
            r = np.full((entry.problem.n_contacts, entry.problem.d), -1.0)
            assert entry.recognises(r) is False


def test_small_problems_are_small_and_mostly_known():
    problems = list(gallery.small_problems())
    assert len(problems) > 40
    assert all(entry.problem.n_contacts <= 14 for entry in problems)
    assert all(entry.known.exists is not None for entry in problems)
    assert sum(entry.known.exists is False for entry in problems) >= 6


def test_all_problems_of_one_family():
    assert [entry.name for entry in gallery.all_problems("painleve")] == list(gallery.names("painleve"))


def test_unknown_names_are_refused_with_a_hint():
    with pytest.raises(
        ProblemError, match=r"no gallery problem is called 'painleve-two': did you mean .*painleve-up-two"
    ):
        gallery.get("painleve-two")
    with pytest.raises(
        ProblemError, match=r"no gallery problem is called '%%%': gallery.names\(\) lists them"
    ):
        gallery.get("%%%")
    with pytest.raises(
        ProblemError, match=r"no gallery family is called 'stones': expected one of one-contact,"
    ):
        gallery.names("stones")


def test_known_must_be_consistent():
    with pytest.raises(ProblemError, match="exists must be True"):
        Known(solutions=(np.zeros((1, 2)),))
    with pytest.raises(ProblemError, match="set exists=False"):
        Known(exists=True, complete=True)
    assert NO_SOLUTION.complete
    assert not NO_SOLUTION.is_unique
    assert only(np.zeros((1, 2))).is_unique
    assert not EXISTS.is_unique


def test_recognises_answers_none_when_the_list_is_not_complete():
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 0.0]], mu=[0.5])

    def entry(known: Known) -> GalleryProblem:
        return GalleryProblem(name="x", problem=problem, reference="", description="", known=known)

    here = np.array([[1.0, 0.0]])
    elsewhere = np.array([[2.0, 0.0]])
    assert entry(Known(exists=True, solutions=(here,))).recognises(elsewhere) is None
    assert entry(only(here)).recognises(elsewhere) is False
    line = Continuum(description="", samples=(here,), contains=lambda r, slack: abs(r[0, 1]) <= slack)
    assert entry(Known(exists=True, continuum=line, complete=True)).recognises(elsewhere) is True
    assert entry(NO_SOLUTION).recognises(here) is False


def test_zero_is_recognised_within_the_impulses_at_stake():
    entry = gallery.get("painleve-up-one")
    assert entry.recognises([[1e-12, 0.0]]) is True
    assert entry.recognises([[1e-3, 0.0]]) is False
