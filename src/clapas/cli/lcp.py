"""``clapas lcp FILE``: solve a linear complementarity problem and report its residual."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output, settings
from clapas.cli.progress import watching
from clapas.errors import Error, FormatError, ProblemError
from clapas.status import Status

if TYPE_CHECKING:
    from clapas.io.lcp import LCPFile
    from clapas.solvers.lcp import LCPSolution

LARGEST_LISTED = 20  # unknowns that are printed one by one
FILE_HELP = "HDF5, NPZ, Matrix Market [M q], or the text of Siconos."


def lcp(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)] = None,
    solver: Annotated[str, typer.Option(help="Method; '--solver list' alone names them.")] = "auto",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the solver; may be repeated."),
    ] = None,
    tol: Annotated[float | None, typer.Option(help="Largest residual accepted, relative to |q|.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Iterations allowed.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds allowed.")] = None,
    traits: Annotated[bool, typer.Option("--traits", help="Say what class the matrix belongs to.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write problem and answer: .hdf5, .npz, .mtx or .dat.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no report.")] = False,
) -> None:
    """Solve a linear complementarity problem w = M z + q, 0 ≤ w ⟂ z ≥ 0.

    Files with the array is_equation (mixed problems), or lower and upper (relays), are solved as the LCP that
    stands for them, and answered in their own unknowns; --out writes that LCP.

    Exit code 0: solved; 1: not solved, the best iterate is reported; 2: bad input.
    """
    from clapas.io.lcp import write_lcp
    from clapas.solvers.lcp import registry, solve_lcp

    if solver == "list":
        output.print_table(("solver", "what it does"), [(e.name, e.summary) for e in registry.entries()])
        return
    if file is None:
        raise typer.BadParameter("which problem? Name a file with an LCP", param_hint="FILE")
    options = {"tol": tol, "max_iterations": max_iterations, "time_limit": time_limit}
    defaults = {key: value for key, value in options.items() if value is not None}
    method = settings.read(registry.find(solver).solver, assignments or (), owner=solver, defaults=defaults)
    if not file.is_file():
        raise ProblemError(f"there is no file '{file}'")
    source = _read(file)
    with watching(method.tol, quiet) as watch:
        solution = _measured(source, solve_lcp(source.problem, method, check=False, progress=watch))
    if out is not None:
        write_lcp(out, source.problem, solution.z)
    if as_json:
        output.print_json(_document(file, source, solution, traits))
    elif not quiet:
        _print_report(source, solution, traits)
    raise typer.Exit(0 if solution.status.is_solved else 1)


def _read(file: Path) -> LCPFile:
    """Read the LCP of a file; a file with a contact problem gets its own error message."""
    from clapas import io
    from clapas.io.lcp import read_lcp

    try:
        return read_lcp(file)
    except FormatError as error:
        try:
            problem = io.read_problem(file)
        except Error:
            raise error from None
        raise ProblemError(
            f"{file} holds a contact problem, {problem!r}, not an LCP: '{output.typed('solve', file)}' "
            "solves it"
        ) from None


def _measured(source: LCPFile, solution: LCPSolution) -> LCPSolution:
    """The solution, measured in the unknowns of the file: where the LCP has a smaller scale it is refined.

    Rounding in what was eliminated may leave an LCP whose solution does not solve the problem of the file.
    """
    from clapas.solvers.lcp import solve_lcp

    tol, whole = solution.tol, _whole_residual(source, solution)
    if whole is None or whole <= tol or not solution.status.is_solved:
        return solution
    finer = replace(solution.solver, tol=0.5 * tol * tol / whole)  # type: ignore[type-var]
    refined = solve_lcp(source.problem, finer, guess=solution.z, check=False)
    left = _whole_residual(source, refined)
    if left is not None and left <= tol:
        return replace(refined, solver=solution.solver, status=Status.SOLVED)
    note = f"the LCP that stands for {source.whole!r} is solved, itself it is not: its residual is {left:.1e}"
    return replace(solution, status=Status.NUMERICAL_ERROR, notes=(*solution.notes, note))


def _whole_residual(source: LCPFile, solution: LCPSolution) -> float | None:
    """Residual of the mixed problem or relay that the file holds; None where it holds an LCP."""
    if source.whole is None or source.back is None:
        return None
    return source.whole.residual(source.back(solution.z))


def _print_report(source: LCPFile, solution: LCPSolution, traits: bool) -> None:
    status, problem = solution.status, source.problem
    print(problem)
    if source.comment:
        print(source.comment)
    if traits:
        output.print_rows((name, str(value)) for name, value in problem.traits().as_dict().items())
    print(f"{solution.solver}\n")
    print(
        f"{status.name}: residual {solution.residual:.3e} (tol {solution.tol:.1e}), "
        f"{solution.iterations} iterations, {solution.time:.3g} s"
    )
    for text in solution.notes:
        print(f"  {text}")
    if not status.is_solved and solution.infeasibility is None:
        print(f"  {status.cause}")  # the notes name a method that solves such problems
    print(solution.report())
    if source.whole is not None and source.back is not None:
        z = source.back(solution.z)
        print(f"{source.whole!r}: residual {_whole_residual(source, solution):.3e}")
        if len(z) <= LARGEST_LISTED:
            output.print_rows([("z", _listed(z))])
    elif problem.size <= LARGEST_LISTED:
        output.print_rows([("z", _listed(solution.z)), ("w", _listed(solution.w))])


def _listed(values: Any) -> str:
    return "  ".join(f"{value:.6g}" for value in values)


def _document(file: Path, source: LCPFile, solution: LCPSolution, traits: bool) -> dict[str, Any]:
    problem, history, proof = source.problem, solution.history, solution.infeasibility
    return {
        "source": file,
        "format": source.format,
        "comment": source.comment,
        "problem": {"name": problem.name, "unknowns": problem.size, "sparse": problem.is_sparse},
        "traits": problem.traits().as_dict() if traits else None,
        "solved": solution.status.is_solved,
        **solution.as_dict(),
        "z": solution.z if source.back is None else source.back(solution.z),
        "whole": None if source.whole is None else repr(source.whole),
        "whole_residual": _whole_residual(source, solution),
        "w": solution.w,
        "infeasibility": None if proof is None else proof.y,
        "history": {
            "iterations": history.iterations,
            "seconds": history.seconds,
            "residuals": history.residuals,
        },
    }
