"""``clapas cuts FILE``: rounds of cuts at the root of a mixed-integer program."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output

if TYPE_CHECKING:
    from clapas.cuts.rounds import Report, Round

FILE_HELP = "A mixed-integer program, MPS or LP text."
KIND_HELP = "facets, deepest, violated or intersection."


def cuts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    rounds: Annotated[int, typer.Option(help="Rounds of cuts at most.")] = 5,
    kind: Annotated[str, typer.Option(help=KIND_HELP)] = "facets",
    splits: Annotated[int, typer.Option(help="Fractional variables taken in a round.")] = 10,
    factor: Annotated[float, typer.Option(help="Normalisation, in that of the intersection cut.")] = 10.0,
    strengthen: Annotated[
        bool, typer.Option("--strengthen", help="Use the integrality of the other variables.")
    ] = False,
    max_cuts: Annotated[int, typer.Option(help="Cuts kept in a round.")] = 100,
    optimum: Annotated[
        float | None, typer.Option(help="Known optimum; by default HiGHS looks for it.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for the rounds, and for HiGHS.")] = 60.0,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the gap closed against the rounds.", callback=output.picture_path),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Add rounds of split cuts to the linear relaxation of a mixed-integer program.

    A relaxation with an integer solution leaves nothing to separate, which is said and is no error. Exit code
    0: done, also where the cuts prove that there is no solution; 2: bad input, also a relaxation that is
    infeasible or unbounded before any cut.
    """
    from clapas.cuts.milp import read_milp, solve_by_highs
    from clapas.cuts.rounds import KINDS, CuttingPlanes
    from clapas.cuts.selection import Selection
    from clapas.errors import unknown_name

    chosen = next((each for each in KINDS if each == kind), None)
    if chosen is None:
        raise unknown_name("kind of cut", kind, KINDS)
    method = CuttingPlanes(
        kind=chosen,
        rounds=rounds,
        splits=splits,
        factor=factor,
        strengthen=strengthen,
        selection=Selection(max_cuts=max_cuts),
        time_limit=time_limit,
    )
    problem = read_milp(file)

    def show(last: Round) -> bool:
        bound = problem.in_its_sense(last.bound)
        if not quiet:
            output.note(
                f"round {last.number}: bound {bound:.8g}, {last.cuts_kept} cuts, {last.seconds:.2g} s"
            )
        return False

    report = method.run(problem, show)
    best = math.nan if optimum is None else problem.in_its_sense(optimum)
    if optimum is None:
        verdict = solve_by_highs(problem, time_limit=time_limit)
        best = verdict.best if verdict.is_optimal else math.nan
    closed = report.gap_closed(best)
    if picture is not None:
        _draw(report, best, picture)
    if as_json:
        output.print_json(_document(file, report, best, closed))
    else:
        _print(report, best, closed)


def _print(report: Report, best: float, closed: tuple[float, ...]) -> None:
    problem = report.problem
    print(f"{problem!r}\n{report.settings}\n")
    rows = [("0", f"{problem.in_its_sense(report.bounds[0]):.8g}", *[""] * 6)]
    for row, share in zip(report.rounds, closed[1:], strict=True):
        rows.append(
            (
                str(row.number),
                f"{problem.in_its_sense(row.bound):.8g}",
                f"{100 * share:.1f} %" if math.isfinite(share) else "",
                str(row.fractional),
                f"{row.cuts_kept} of {row.cuts_made}",
                f"{row.depth:.3g}",
                f"{100 * row.density:.0f} %",
                f"{row.seconds:.2g}",
            )
        )
    header = ("round", "bound", "gap closed", "fractional", "cuts kept", "deepest", "nonzeros", "seconds")
    output.print_table(header, rows)
    print(f"\n{report.ending}")
    if math.isfinite(best):
        print(f"optimum {problem.in_its_sense(best):.8g}")


def _draw(report: Report, best: float, picture: Path) -> None:
    """Plot the gap closed against the rounds, or the bound where the optimum is not known."""
    from matplotlib.figure import Figure

    from clapas.io.pictures import save_figure

    closed, problem = report.gap_closed(best), report.problem
    known = math.isfinite(closed[0])
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    values = [100 * share for share in closed] if known else [problem.in_its_sense(b) for b in report.bounds]
    axes.plot(range(len(values)), values, "o-")
    axes.set(xlabel="rounds", ylabel="gap closed (%)" if known else "bound", title=problem.name)
    axes.set_xticks(range(len(values)))
    save_figure(figure, picture, 120)


def _document(file: Path, report: Report, best: float, closed: tuple[float, ...]) -> dict[str, Any]:
    problem = report.problem
    return {
        "source": file,
        "problem": {
            "name": problem.name,
            "variables": len(problem.c),
            "integers": int(problem.is_integer.sum()),
            "rows": problem.A.shape[0],
        },
        "kind": report.settings.kind,
        "strengthen": report.settings.strengthen,
        "optimum": problem.in_its_sense(best),
        "bounds": [problem.in_its_sense(bound) for bound in report.bounds],
        "gap_closed": closed,
        "rounds": [
            {
                "fractional": done.fractional,
                "cuts_made": done.cuts_made,
                "cuts_kept": done.cuts_kept,
                "cuts_refused": done.cuts_refused,
                "depth": done.depth,
                "density": done.density,
                "seconds": done.seconds,
            }
            for done in report.rounds
        ],
        "ending": report.ending,
        "integer_solution": report.is_integer,
        "infeasible": report.is_infeasible,
        "x": report.x,
        "seconds": report.seconds,
    }
