"""The clamped rectangle of the LMGC thesis on tensegrity: tables 2.4 and 2.5."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.io.lcp import read_lcp
from clapas.problems.gallery import elastic_rectangle
from clapas.solvers.lcp import LCPSolution
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.lcp_contact import (
    COUNTS,
    CUT_SHORT,
    ROUNDING,
    SOURCE,
    Counts,
    compare,
    cut_short,
    rounding,
)
from clapas.studies.report import Report
from clapas.studies.verdicts import UNDETERMINED, Verdict, of_number

PRINTED_COUNTS = {
    "Gauss-Seidel": 182,
    "conjugate gradient": 41,
    "LATIN, k = 0.09": 50,
    "LATIN, k = 0.2": 36,
    "LATIN, k = 0.3": 59,
    "LATIN, k = 0.5": 91,
    "LATIN, k = 0.7": 127,
}
PRINTED_RESIDUALS = {201: 1.8928e-14, 301: 0.0263}  # of Lemke's method, by contacts
PRINTED_LARGEST = {201: ("3.19e-4", "3.3801e3"), 301: ("3.14e-4", "5.1786e3")}  # largest z (m), cond(M)
NEAR = 0.1  # relative difference of counts explained by start, scaling and manner of counting


@dataclass(frozen=True, kw_only=True)
class LCPRectangle:
    """A clamped elastic rectangle bent onto an obstacle: iteration counts, and Lemke's rounding.

    Parameters
    ----------
    contacts : int
        Contact nodes of the iteration counts.
    largest : int
        Contact nodes of the largest problem given to Lemke's method.
    matrix : str
        A file with another matrix to count on first; by default that of the original rectangle (26 contacts,
        "mmc" among the problems that come with Siconos), which is shipped.
    """

    contacts: int = 26
    largest: int = 801
    matrix: str = ""

    title: ClassVar[str] = "Contact of an elastic rectangle as an LCP (Tables 2.4 and 2.5)"
    quick: ClassVar[dict[str, int]] = {"contacts": 10, "largest": 26}

    def __post_init__(self) -> None:
        if self.matrix and not Path(self.matrix).is_file():
            raise SettingsError(f"matrix: there is no file '{self.matrix}'")

    def run(self, report: Report) -> None:
        """Count, then refine."""
        report.say(COUNTS)
        report.say(
            "## The original matrix" if not self.matrix else f"## The matrix of {Path(self.matrix).name}"
        )
        original = read_lcp(self.matrix).problem if self.matrix else elastic_rectangle()
        found = compare(report, "original", original, PRINTED_COUNTS)
        if not self.matrix:
            _judge_counts(report, found)
        block = ElasticBlock(contacts=self.contacts)
        report.say(
            f"## Our rectangle: {block.contacts} contacts, {block.n_dof} displacements\n\nThe thesis gives "
            "the length, the gap and the load, not the height nor the loaded part: comparable in kind only."
        )
        compare(report, "rectangle", block.frictionless(), PRINTED_COUNTS)
        report.say("## Lemke's method under refinement (200 MPa)\n\n" + ROUNDING)
        sizes = [n for n in (26, 51, 101, 201, 301, 401, 601, 801) if n <= self.largest]
        blocks = (ElasticBlock(contacts=n, pressure=200e6) for n in sizes)
        answers = rounding(report, blocks, PRINTED_RESIDUALS, f"{SOURCE}, table 2.5")
        for contacts in PRINTED_LARGEST.keys() & answers.keys():
            _judge_size(report, contacts, answers[contacts])
        last = min(301, sizes[-1])
        report.say(f"## A path cut short, {last} contacts\n\n" + CUT_SHORT)
        cut_short(report, ElasticBlock(contacts=last, pressure=200e6))


def _judge_counts(report: Report, found: dict[str, Counts]) -> None:
    """Table 2.4 against the methods exactly as printed, on the original matrix."""
    for name, each in found.items():
        report.judge(
            of_number(
                f"{SOURCE}, table 2.4",
                f"iterations to η = 1e-4, original matrix: {name}",
                str(PRINTED_COUNTS[name]),
                len(each.printed) - 1,
                within=NEAR,
                why="the start, the scaling of k and how iterations are counted are not printed",
            )
        )


def _judge_size(report: Report, contacts: int, answer: LCPSolution) -> None:
    """Largest separation and condition number of the refined rectangle."""
    largest, condition = PRINTED_LARGEST[contacts]
    found = (f"{answer.z.max():.3g}", f"{np.linalg.cond(answer.problem.dense):.3g}")
    for what, printed, ours in zip(("largest z (m)", "cond(M)"), (largest, condition), found, strict=True):
        report.judge(
            Verdict(
                source=f"{SOURCE}, table 2.5",
                quantity=f"{what}, rectangle with {contacts} contacts",
                printed=printed,
                found=ours,
                grade=UNDETERMINED,
                why="height, mesh and loaded part of the rectangle are not printed",
            )
        )
