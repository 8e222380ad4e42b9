"""``clapas solve FILE``: solve a contact problem and report its residual."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import known, output, settings
from clapas.cli.progress import watching
from clapas.cli.source import FILE_HELP, Kind, Source, load
from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.solvers import Solution
    from clapas.typing import Array


class Guess(StrEnum):
    """Where the solver starts."""

    ZERO = "zero"
    FILE = "file"
    SOLUTION = "solution"


def solve(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    solver: Annotated[str, typer.Option(help="Method; 'clapas solvers' lists them.")] = "auto",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the solver; may be repeated."),
    ] = None,
    tol: Annotated[float | None, typer.Option(help="Largest residual accepted, relative to |q|.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Iterations allowed.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds allowed.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to use at most.")] = None,
    kind: Annotated[Kind, typer.Option(help="What to expect in the file.")] = Kind.AUTO,
    symmetrise: Annotated[
        bool, typer.Option("--symmetrise", help="Replace an asymmetric matrix by its symmetric part.")
    ] = False,
    guess: Annotated[
        Guess, typer.Option(help="Start from zero, from the file's first guess, or from its solution.")
    ] = Guess.ZERO,
    out: Annotated[
        Path | None, typer.Option(help="Write problem and solution as an FCLib file, solved or not.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no report.")] = False,
) -> None:
    """Solve a contact problem and measure the answer.

    Exit code 0: solved; 1: not solved, the best iterate is reported; 2: bad input. Ctrl-C stops the
    solver at its next measurement and keeps what it has.
    """
    from clapas.solvers import solve as run

    common = {"tol": tol, "max_iterations": max_iterations, "time_limit": time_limit}
    method = settings.make(solver, assignments or (), common)
    output.require_place(out, "--out")
    source = load(file, kind, symmetrise)
    start = _start(source, guess)
    if not quiet:
        for text in source.notes:
            output.note(text)
    with watching(method.tol, quiet) as watch, _at_most(threads):
        solution = run(source.problem, method, guess=start, check=False, progress=watch)
    failure = _save(out, source, solution)
    written = out if failure is None else None
    if as_json:
        output.print_json(_document(source, solution, written))
    elif not quiet:
        _print_report(source, solution, written)
    elif not solution.status.is_answered:
        print(f"clapas: not solved: {_summary(solution)}", file=sys.stderr)
    if failure is not None:
        raise failure
    raise typer.Exit(0 if solution.status.is_answered else 1)


def _at_most(threads: int | None) -> AbstractContextManager[None]:
    """Limit the number of threads; None leaves the choice to the methods."""
    if threads is None:
        return nullcontext()
    from clapas import compiled

    return compiled.limited_threads(threads, 0)


def _start(source: Source, guess: Guess) -> Array | None:
    if guess is Guess.ZERO:
        return None
    file = source.file
    if guess is Guess.FILE and file is not None and file.guesses:
        return file.guesses[0].r
    if guess is Guess.SOLUTION and file is not None and file.solution is not None:
        return file.solution.r
    wanted = "guess" if guess is Guess.FILE else "solution"
    raise SettingsError(f"--guess {guess}: {source.name} holds no {wanted}; start from zero instead")


# -------------------------------------------------------------------- --out


def _save(out: Path | None, source: Source, solution: Solution) -> OSError | None:
    """Write the solution with the metadata of its source file; return the error, if any."""
    if out is None:
        return None
    from clapas import io

    metadata: dict[str, Any] = {}
    guesses: tuple[Any, ...] = ()
    if source.file is not None:
        info, guesses = source.file.info, source.file.guesses
        metadata = {
            "title": info.title or None,
            "description": info.description,
            "math_info": info.math_info,
            "attributes": info.attributes,
        }
    elif source.entry is not None:
        metadata = {"description": source.entry.description, "math_info": source.entry.reference}
    try:
        io.write(out, source.problem, solution, guesses, **metadata)
    except OSError as error:
        return OSError(f"the solution could not be written to '{out}': {error.strerror or error}")
    return None


# -------------------------------------------------------------------- report


def _print_report(source: Source, solution: Solution, written: Path | None) -> None:
    status = solution.status
    print(source.problem)
    print(f"{solution.solver}\n")
    print(_summary(solution))
    if not status.is_solved:
        print(f"  {status.cause}\n  {_advice(solution)}")
    for text in solution.notes:
        print(f"  {text}")
    print(solution.report())
    if source.entry is not None:
        print(_comparison(source, solution))
    if written is not None:
        print(f"problem and {'solution' if status.is_answered else 'best iterate'} written to {written}")
        if not status.is_answered:
            print(f"continue from it with: {output.typed('solve', written)} --guess solution")


def _advice(solution: Solution) -> str:
    """Advice of the status, and what is known about the existence of a solution."""
    from clapas.problems import existence

    unsettled = not solution.status.is_answered and solution.status.name != "NO_SOLUTION"
    remark = existence.advice(solution.problem) if unsettled else ""
    return f"{solution.status.advice} {remark}".rstrip()


def _summary(solution: Solution) -> str:
    return (
        f"{solution.status.name}: residual {solution.residual:.3e} (tol {solution.tol:.1e}), "
        f"{solution.iterations} iterations, {solution.time:.3g} s"
    )


def _comparison(source: Source, solution: Solution) -> str:
    assert source.entry is not None
    text = f"known: {known.in_words(source.entry.known)}"
    # Looser than the residual: ill-conditioned data amplify the error of r.
    return f"{text}; this is one of them" if source.entry.recognises(solution.r, tol=1e-6) else text


def _document(source: Source, solution: Solution, written: Path | None) -> dict[str, Any]:
    problem, history = source.problem, solution.history
    return {
        "source": source.name,
        "problem": {
            "name": problem.name,
            "form": problem.form,
            "contacts": problem.n_contacts,
            "d": problem.d,
            "dofs": problem.n_dof if problem.form == "global" else None,
        },
        "solved": solution.status.is_solved,
        "cause": solution.status.cause,
        "advice": _advice(solution),
        **solution.as_dict(),
        "history": {
            "iterations": history.iterations,
            "seconds": history.seconds,
            "residuals": history.residuals,
        },
        "method_notes": solution.notes,
        "r": solution.r,
        "u": solution.u,
        "v": solution.v,
        "out": written,
        "notes": source.notes,
    }
