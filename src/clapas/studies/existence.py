"""Cadoux's criterion on his random family: certified below n d / m = 1, and how far above."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

from clapas.errors import SettingsError
from clapas.problems import existence, gallery
from clapas.problems.existence import Verdict
from clapas.studies.report import Report

RATIOS = (0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.4, 2.8, 3.2)  # n d / m
DEGREES, SYSTEMS = 6, 15  # of freedom of a system; systems
LIMIT = 20.0  # seconds per program


@dataclass(frozen=True, kw_only=True)
class ExistenceCriterion:
    """Where the criterion certifies existence: the instances of the tables, then n d / m beyond them.

    Parameters
    ----------
    instances : int
        How many of the 30 named instances, the smallest first.
    draws : int
        Random problems per ratio n d / m.
    """

    instances: int = 30
    draws: int = 20

    title: ClassVar[str] = "Criterion of existence on random problems (Cadoux 2009, tables 5.1 and 5.2)"
    quick: ClassVar[dict[str, Any]] = {"instances": 2, "draws": 1}

    def __post_init__(self) -> None:
        if self.instances < 0 or self.draws < 1:
            raise SettingsError(
                f"instances must be at least 0 and draws at least 1, got {self.instances} and {self.draws}"
            )

    def run(self, report: Report) -> None:
        """Check the named instances, then whole families."""
        report.say(
            "The tables print *yes* for n d / m < 1 and *?* from 1 on. The criterion itself knows no such "
            "limit: H need not have full row rank for some motion to open all contacts."
        )
        self._named(report)
        self._ratios(report)

    def _named(self, report: Report) -> None:
        rows = []
        for name in gallery.names("alea")[: self.instances]:
            problem = gallery.get(name).problem
            start = time.perf_counter()
            answer = existence.check(problem, time_limit=LIMIT)
            seconds = time.perf_counter() - start
            ratio = problem.n_contacts * problem.d / problem.n_dof
            printed = "yes" if ratio < 1 else "?"
            numbers = (f"{answer.opening:.2g}", f"{answer.margin:.3g}", f"{seconds:.2g}")
            rows.append([name, f"{ratio:.2f}", printed, answer.verdict.name.lower(), answer.reason, *numbers])
            report.tell(f"{name}  {answer}")
        report.table(
            ["problem", "n d / m", "printed", "here", "because", "opening", "margin", "seconds"], rows
        )

    def _ratios(self, report: Report) -> None:
        shares: dict[Verdict, list[float]] = {verdict: [] for verdict in Verdict}
        for ratio in RATIOS:
            n = round(ratio * DEGREES * SYSTEMS / 3)
            verdicts = [
                existence.check(gallery.alea(DEGREES, SYSTEMS, n, seed=seed), time_limit=LIMIT).verdict
                for seed in range(self.draws)
            ]
            for verdict, share in shares.items():
                share.append(verdicts.count(verdict) / self.draws)
            report.tell(f"n d / m = {ratio}: certified {shares[Verdict.CERTIFIED][-1]:.0%}")
        report.say(f"Share of {self.draws} random problems with {DEGREES * SYSTEMS} degrees of freedom.")
        report.table(
            ["n d / m", *(verdict.name.lower() for verdict in Verdict)],
            [
                [f"{ratio:.1f}", *(f"{shares[verdict][k]:.0%}" for verdict in Verdict)]
                for k, ratio in enumerate(RATIOS)
            ],
        )
        with report.figure("ratios", "Share of problems by verdict") as figure:
            axes = figure.subplots()
            for verdict, share in shares.items():
                axes.plot(RATIOS, share, "o-", label=verdict.name.lower())
            axes.set(xlabel="n d / m", ylabel="share")
            axes.legend()
