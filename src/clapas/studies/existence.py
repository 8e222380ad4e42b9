"""Cadoux's criterion on his random family: up to which n d / m it certifies, and why.

With w = 0 the criterion always holds (v = 0). With w ≠ 0 it holds for every w if some motion opens all
contacts, H v in the interior of K*: the image of H, a subspace of dimension m, must meet a cone of R^{nd}. A
random subspace meets a cone C or not according to a single number, the statistical dimension δ(C), which is d
for the whole space and adds up over products: almost surely yes if m + n δ > n d, almost surely no if m + n δ
< n d, the change taking place within about √(n d) (Amelunxen, Lotz, McCoy, Tropp 2014, theorem I). Hence the
limit

    n d / m = d / (d − δ),    δ = 3/2 + (1 − mu)/√(1 + mu²)  (d = 3),    δ = 1/2 + 2 arctan(1/mu)/π  (d = 2),

δ averaged over the contacts. (The intrinsic volumes of a circular cone of half angle α, tan α = 1/mu, are v_3
= (1 − cos α)/2, v_2 = sin α/2, v_1 = cos α/2 in space and v_2 = α/π, v_1 = 1/2 in the plane; δ = Σ k v_k.) A
Gaussian w adds at most one to m. It is 2.87 for mu between 0.2 and 0.8 in space, and never below 6/5 (4/3 in
the plane), however rough the contacts: n d / m = 1 marks the loss of full row rank, on which the criterion
does not depend.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, existence, gallery
from clapas.problems.existence import Verdict
from clapas.problems.gallery.alea import FRICTION
from clapas.studies.report import Report
from clapas.studies.verdicts import of_counts
from clapas.typing import Array

RATIOS = (0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.4, 2.8, 3.2)  # n d / m
DEGREES, SYSTEMS = 6, 15  # of freedom of a system; systems
LIMIT = 20.0  # seconds per program
FRICTIONS = (0.0, 0.2, 0.5, 0.8, 2.0)
FEW = 6  # systems in the study of the limit
AROUND = (0.8, 1.0, 1.25)  # n d / m over its limit


@dataclass(frozen=True, kw_only=True)
class ExistenceCriterion:
    """Where the criterion certifies existence: the instances of the tables, then n d / m beyond them.

    Parameters
    ----------
    instances : int
        Number of the 30 named instances, the smallest first.
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
        expected = limit(np.linspace(*FRICTION, 100), 3)
        report.say(
            "The tables print *yes* for n d / m < 1 and *?* from 1 on, where attempts to verify the "
            "criterion failed. The criterion itself knows no such limit. It holds if w = 0; if not, for "
            "every w as soon as some motion opens all contacts (*opening* > 0). Full row rank of H is enough "
            "for that, and more than is needed: the image of H, of dimension m, must meet the cone K* in n d "
            "dimensions, and that of a random H does so almost surely up to n d / m = d / (d − δ), δ being "
            "the statistical dimension of K* of a contact: "
            f"{expected:.2f} for mu between 0.2 and 0.8, and at least 1.2 for any mu. Every certificate is a "
            "velocity, and is checked against the data."
        )
        self._named(report)
        self._ratios(report)
        self._limits(report)

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
        _judge(report, rows)

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

    def _limits(self, report: Report) -> None:
        """Shares certified below, at and above the expected limit, for several frictions."""
        rows = []
        for d in (2, 3):
            for mu in FRICTIONS:
                expected = limit(np.array([mu]), d)
                sizes = [round(around * expected * DEGREES * FEW / d) for around in AROUND]
                shares = [f"{self._share(d, mu, n, systems):.0%}" for systems in (1, FEW) for n in sizes]
                rows.append([str(d), f"{mu}", f"{expected:.2f}", *shares])
                report.tell(f"d = {d}, mu = {mu}: limit {expected:.2f}, certified {', '.join(shares)}")
        report.say(
            "Share certified at 0.8, 1 and 1.25 times the expected limit, for all contacts on one system "
            f"(the case of the theorem) and on pairs among {FEW}, with {DEGREES * FEW} degrees of freedom."
        )
        kinds = [f"{kind}, {around:g}" for kind in ("one system", "pairs") for around in AROUND]
        report.table(["d", "mu", "d / (d − δ)", *kinds], rows)

    def _share(self, d: int, mu: float, n: int, systems: int) -> float:
        certified = 0
        for seed in range(self.draws):
            drawn = gallery.alea(DEGREES * FEW // systems, systems, n, d=d, seed=seed)
            rough = ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=np.full(n, mu), d=d)
            certified += existence.check(rough, time_limit=LIMIT).verdict is Verdict.CERTIFIED
        return certified / self.draws


def _judge(report: Report, rows: list[list[str]]) -> None:
    """Verdicts on the column *existence* of the two tables."""
    below = [row for row in rows if row[2] == "yes"]
    beyond = [row for row in rows if row[2] == "?"]
    certified = [sum(row[3] == "certified" for row in some) for some in (below, beyond)]
    source = "Cadoux 2009, tables 5.1 and 5.2"
    if below:
        report.judge(
            of_counts(
                source,
                "existence certified, n d / m < 1",
                (len(below), len(below)),
                (certified[0], len(below)),
            )
        )
    if beyond:
        report.judge(
            of_counts(
                source,
                "existence certified, n d / m ≥ 1",
                (0, len(beyond)),
                (certified[1], len(beyond)),
                why="the thesis could not verify the criterion there; it holds up to n d / m = d / (d − δ)",
            )
        )


def limit(mu: Array, d: int) -> float:
    """The n d / m up to which a random H opens all contacts of these frictions, in large problems.

    >>> round(limit(np.linspace(0.2, 0.8, 100), 3), 2)
    2.87
    >>> round(limit(np.array([1e9]), 3), 2), round(limit(np.array([1e9]), 2), 2)
    (1.2, 1.33)
    """
    if d == 3:
        dimension = 1.5 + float(np.mean((1.0 - mu) / np.hypot(1.0, mu)))
    else:
        dimension = 0.5 + float(np.mean(np.arctan2(1.0, mu))) / (0.5 * np.pi)
    return d / (d - dimension)
