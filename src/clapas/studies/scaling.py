"""Scaling model: cost of a step on many ranks, from the costs of its phases on few.

The work of a phase is proportional to the bodies or contacts of the rank,

    share, detect, rest ∝ bodies,    assemble, judge ∝ contacts,    sweep ∝ contacts · sweeps,

and each has a constant part, the overhead of calls; coefficients are measured on one rank. A
rank that holds n grains exchanges the rows of about k n^(2/3) of
them through each face of its domain, after each sweep. All ranks gather some numbers several times a step:
log2(P) messages of latency, and the numbers of P ranks, which each of them receives. The latency and the
bandwidth are assumed values of a cluster, not measured here.
"""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from clapas.distributed.launch import launcher
from clapas.errors import Error, SettingsError
from clapas.studies.report import Report

ROW = 48.0  # bytes of the row of a body, exchanged after each sweep
NUMBERS = 4  # that a rank contributes to a collective, approximately
FACES, NEIGHBOURS = 6, 26  # of a domain inside the others
CONSTANT = 330.0  # bytes of constant data of each grain, which every rank holds
OWN = 1800.0  # peak bytes of the variable data of a grain and its contacts in a step, on its owner
PROPORTIONAL = {
    "share": "bodies",
    "detect": "bodies",
    "rest": "bodies",
    "assemble": "contacts",
    "sweep": "contact-sweeps",
    "judge": "contacts",
}
SHARED_BY_NONE = {"border", "collectives", "calls"}
Sample = dict[str, Any]


class Stopped(Error, RuntimeError):
    """Ranks ended with an error."""


def sample(ranks: int, grains: int, steps: int) -> Sample:
    """Measure a packing on ranks of their own (:mod:`clapas.distributed.measured`).

    Raises
    ------
    MissingDependency
        MPI is not installed.
    """
    command, environment = launcher(ranks)
    environment |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    program = [*command, "-m", "clapas.distributed.measured", str(grains), str(steps)]
    process = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in process.stdout.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise Stopped(
            f"{ranks} ranks on {grains} grains ended with code {process.returncode}: {process.stderr[-500:]}"
        )
    measured: Sample = json.loads(lines[0])
    measured["phases"]["rest"] = measured["own"] - sum(measured["phases"].values())
    return measured


def amount(of: Sample, phase: str) -> float:
    """Amount of work of a phase, on the most loaded rank of a sample."""
    if PROPORTIONAL[phase] == "contact-sweeps":
        return float(of["contacts"] * of["sweeps"])
    return float(of[PROPORTIONAL[phase]])


def calls(of: Sample, phase: str) -> float:
    """Approximate number of calls of a phase in a step."""
    return float(of["sweeps"]) if phase == "sweep" else 1.0


@dataclass(frozen=True)
class Costs:
    """The model: seconds per unit of work, and growth of the amounts.

    Parameters
    ----------
    unit : dict
        Seconds per body, contact or contact-sweep, by phase.
    call : dict
        Constant seconds of each phase: per sweep for ``sweep``, per step for the others.
    contacts : float
        Contacts per grain.
    sweeps, reference, growth : float
        ``sweeps`` a step of ``reference`` grains; of N grains, sweeps (N/reference)^growth.
    face : float
        Copies behind a face of a domain of n grains are face · n^(2/3).
    collectives : float
        Collectives per sweep.
    latency, bandwidth : float
        Of the network (s, B/s).
    """

    unit: dict[str, float]
    call: dict[str, float]
    contacts: float
    sweeps: float
    reference: float
    growth: float
    face: float
    collectives: float
    latency: float
    bandwidth: float

    def work(self, of: Sample) -> dict[str, float]:
        """Seconds of each phase of a step with the amounts of a sample, and of all calls."""
        seconds = {phase: self.unit[phase] * amount(of, phase) for phase in PROPORTIONAL}
        return seconds | {"calls": sum(self.call[phase] * calls(of, phase) for phase in PROPORTIONAL)}

    def swept(self, grains: float) -> float:
        """Sweeps of a step for a number of grains in a cube."""
        return float(self.sweeps * (grains / self.reference) ** self.growth)

    def step(self, grains: float, ranks: float, sweeps: float | None = None) -> dict[str, float]:
        """Seconds of a step by phases: the work, the border and the collectives."""
        n, sweeps = grains / ranks, self.swept(grains) if sweeps is None else sweeps
        own = {"bodies": n, "contacts": self.contacts * n, "sweeps": sweeps}
        seconds = self.work(own)
        if ranks > 1:
            faces = min(FACES, 2.0 * math.log2(ranks))
            rows = faces * self.face * n ** (2.0 / 3.0)
            neighbours = min(NEIGHBOURS, ranks - 1.0)
            seconds["border"] = sweeps * (neighbours * self.latency + 2.0 * rows * ROW / self.bandwidth)
            numbers = 8.0 * NUMBERS * ranks / self.bandwidth
            seconds["collectives"] = self.collectives * sweeps * (self.latency * math.log2(ranks) + numbers)
        return seconds


def fitted(samples: list[Sample], latency: float, bandwidth: float) -> Costs:
    """The model of measured samples: work and sweeps from one rank, borders from several."""
    alone = sorted((s for s in samples if s["ranks"] == 1), key=lambda s: float(s["grains"]))
    several = [s for s in samples if s["ranks"] > 1]
    unit, call = {}, {}
    for phase in PROPORTIONAL:
        x = np.array([[amount(s, phase), calls(s, phase)] for s in alone])
        y = np.array([s["phases"].get(phase, 0.0) for s in alone])
        size = np.maximum(y, 1e-9)[:, None]  # weights for relative errors, for small and large samples alike
        unit[phase], call[phase] = nnls(x / size, y / size[:, 0])[0].tolist()
    grains, sweeps = (np.array([float(s[name]) for s in alone]) for name in ("grains", "sweeps"))
    growth = float(np.polyfit(np.log(grains), np.log(sweeps), 1)[0]) if len(alone) > 1 else 0.0
    return Costs(
        unit=unit,
        call=call,
        contacts=alone[-1]["contacts"] / alone[-1]["grains"],
        sweeps=float(sweeps[-1]),
        reference=float(grains[-1]),
        growth=max(0.0, growth),
        face=float(np.mean([faces_of(s) for s in several])) if several else 1.0,
        collectives=float(np.mean([s["collectives"] / s["sweeps"] for s in several or alone])),
        latency=latency,
        bandwidth=bandwidth,
    )


def faces_of(of: Sample) -> float:
    """Copies behind one face of a domain over n^(2/3); bisection gives log2(P) faces to P ≤ 8 domains."""
    return float(of["copies"] / math.log2(of["ranks"]) / (of["grains"] / of["ranks"]) ** (2.0 / 3.0))


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Costs of the phases of a step on some ranks, and what they say of many.

    Parameters
    ----------
    grains : tuple of int
        Sizes measured on one rank; the largest is measured on several too.
    ranks : tuple of int
        Numbers of ranks; may be more than there are processors.
    steps : int
        Steps measured.
    latency : float
        Of the network for which the model is read (s).
    bandwidth : float
        Of the same (B/s).
    """

    grains: tuple[int, ...] = (4_000, 16_000, 64_000)
    ranks: tuple[int, ...] = (2, 4, 8)
    steps: int = 10
    latency: float = 2e-6
    bandwidth: float = 1e10

    title: ClassVar[str] = "Scale: measured phases of a step on ranks, and a model of many"
    quick: ClassVar[dict[str, Any]] = {"grains": (300, 600), "ranks": (2,), "steps": 2}

    def __post_init__(self) -> None:
        if not self.grains or min(self.grains) < 1 or min(self.ranks, default=2) < 2 or self.steps < 1:
            raise SettingsError(
                f"grains must be positive, ranks at least 2 and steps at least 1, got {self.grains}, "
                f"{self.ranks} and {self.steps}"
            )
        if not (self.latency > 0.0 and self.bandwidth > 0.0):
            raise SettingsError(
                f"latency and bandwidth must be positive, got {self.latency} and {self.bandwidth}"
            )

    def run(self, report: Report) -> None:
        """Measure, fit, compare, extrapolate."""
        samples = []
        for ranks, grains in [(1, n) for n in self.grains] + [(p, max(self.grains)) for p in self.ranks]:
            samples.append(sample(ranks, grains, self.steps))
            report.tell(f"{ranks} ranks, {grains} grains: {1e3 * samples[-1]['own']:.1f} ms of work a step")
        costs = fitted(samples, self.latency, self.bandwidth)
        self._measured(report, samples)
        self._validated(report, samples, costs)
        self._extrapolated(report, costs)

    def _measured(self, report: Report, samples: list[Sample]) -> None:
        report.say("## Measured")
        report.say(
            "Processor time of a step on the rank that has most, in ms, without sending and waiting: this is "
            "comparable with more ranks than processors. Spheres packed at random in a cube, residual 1e-3. "
            "One rank has nobody to agree with: its judge is asked within the sweeps."
        )
        report.table(
            ["ranks", "grains", "contacts of a rank", "sweeps", *PROPORTIONAL, "own"],
            [
                [str(s["ranks"]), str(s["grains"]), f"{s['contacts']:.0f}", f"{s['sweeps']:.1f}"]
                + [f"{1e3 * s['phases'].get(phase, 0.0):.2f}" for phase in PROPORTIONAL]
                + [f"{1e3 * s['own']:.1f}"]
                for s in samples
            ],
        )
        report.say("What a rank sends in a step:")
        report.table(
            [
                "ranks",
                "copies",
                "copies a face / n^(2/3)",
                "messages",
                "kB",
                "B a copy and sweep",
                "collectives",
            ],
            [
                [
                    str(s["ranks"]),
                    f"{s['copies']:.0f}",
                    f"{faces_of(s):.2f}",
                    f"{s['messages']:.0f}",
                    f"{s['bytes'] / 1e3:.0f}",
                    f"{s['bytes'] / max(1.0, s['copies'] * s['sweeps']):.0f}",
                    f"{s['collectives']:.0f}",
                ]
                for s in samples
                if s["ranks"] > 1
            ],
        )

    def _validated(self, report: Report, samples: list[Sample], costs: Costs) -> None:
        report.say("## The model beside the measurements")
        report.say(
            f"Coefficients are from one rank: {1e6 * costs.unit['detect']:.2f} µs a grain to detect, "
            f"{1e6 * costs.unit['assemble']:.2f} µs a contact to assemble, "
            f"{1e9 * costs.unit['sweep']:.0f} ns a contact and sweep, {1e6 * costs.call['sweep']:.0f} µs for "
            f"the call of a sweep. Sweeps grow as N^{costs.growth:.2f}. Samples of several ranks were not "
            "used for the coefficients of work."
        )
        rows = []
        for s in samples:
            predicted = sum(costs.work(s).values())
            times = f"{1e3 * s['own']:.1f}", f"{1e3 * predicted:.1f}", f"{predicted / s['own']:.2f}"
            rows.append([str(s["ranks"]), str(s["grains"]), *times])
        report.table(["ranks", "grains", "own (ms)", "model (ms)", "ratio"], rows)

    def _extrapolated(self, report: Report, costs: Costs) -> None:
        report.say("## Many ranks")
        report.say(
            f"Assumed: a network of {1e6 * costs.latency:g} µs and {costs.bandwidth / 1e9:g} GB/s; cubic "
            f"domains of equal work, {NEIGHBOURS} neighbours; sweeps as in a cube of grains of the measured "
            "density (weak scaling: as in a layer that gets wider, not deeper). The limit named is the "
            "largest of the parts that more ranks do not share: border, collectives, calls."
        )
        weak = [(1e5 * p, p, costs.swept(1e5)) for p in (1, 10, 1e3, 1e4, 1e5)]
        report.say("Weak scaling, 100 000 grains a rank:")
        self._table(report, costs, weak, of_one=sum(costs.step(1e5, 1, costs.swept(1e5)).values()))
        for grains in (1e7, 1e9):
            report.say(f"Strong scaling, {grains:.0e} grains:")
            cases = [(grains, p, costs.swept(grains)) for p in (1, 1e2, 1e3, 1e4, 1e5)]
            self._table(report, costs, cases, of_one=None)
        with report.figure("scaling", "Seconds of a step against ranks") as figure:
            axes = figure.subplots()
            ranks = np.logspace(0, 5, 40)
            for grains in (1e7, 1e8, 1e9):
                times = [sum(costs.step(grains, p).values()) for p in ranks]
                axes.loglog(ranks, times, label=f"{grains:.0e} grains")
                axes.loglog(ranks, times[0] / ranks, color="0.8", zorder=0)
            axes.set(xlabel="ranks", ylabel="s a step")
            axes.legend()
        report.say(
            f"Every rank holds the constant data of all grains, about {CONSTANT:g} B each (and {OWN:g} B of "
            f"what changes of each of its own): 10⁷ grains take {1e7 * CONSTANT / 1e9:.0f} GB a rank and 10⁹ "
            f"would take {1e9 * CONSTANT / 1e9:.0f}. Before the times above, this is the limit of the "
            "present code; the times say what would come next."
        )

    def _table(
        self, report: Report, costs: Costs, cases: list[tuple[float, float, float]], of_one: float | None
    ) -> None:
        rows = []
        for grains, ranks, sweeps in cases:
            step = costs.step(grains, ranks, sweeps)
            total = sum(step.values())
            ideal = of_one if of_one is not None else sum(costs.step(grains, 1, sweeps).values()) / ranks
            limit = max(SHARED_BY_NONE & step.keys(), key=lambda name: step[name])
            memory = CONSTANT * grains + OWN * grains / ranks
            rows.append(
                [
                    f"{ranks:.0e}",
                    f"{grains:.0e}",
                    f"{sweeps:.0f}",
                    f"{total:.3g}",
                    f"{ideal / total:.2f}",
                    f"{step['sweep'] / total:.2f}",
                    f"{limit} ({step[limit] / total:.2f})",
                    f"{memory / 1e9:.3g}",
                ]
            )
        report.table(
            ["ranks", "grains", "sweeps", "s a step", "efficiency", "sweep share", "limit", "GB a rank"], rows
        )
