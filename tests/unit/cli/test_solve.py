"""``clapas solve``: exit codes, the report, JSON and the file written."""

from __future__ import annotations

import signal
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

from clapas import io
from clapas.cli.progress import Watch
from clapas.problems import ContactProblem, gallery
from clapas.solvers import Progress

from .conftest import Run

HARD = "gallery:tower-10"  # takes hundreds of sweeps
HOPELESS = "gallery:crushed-disc"  # has no solution


@pytest.mark.parametrize(
    "source",
    ["example:two-blocks", "example:disc-column.dat", "gallery:painleve-up-two", "gallery:no-contact"],
)
def test_solved_problems_exit_with_0_and_a_report(run: Run, source: str) -> None:
    outcome = run("solve", source)
    assert outcome.code == 0
    assert "SOLVED: residual " in outcome.out
    assert "natural map" in outcome.out
    assert "Auto(tol=1e-08" in outcome.out


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("arch.obj", "arch.obj holds blocks, not a contact problem: 'clapas masonry arch.obj' takes it"),
        ("a.toml", "a.toml holds a scene, not a contact problem: 'clapas run a.toml' takes it"),
        ("arm.urdf", "arm.urdf holds a robot, not a contact problem: 'clapas run arm.urdf' takes it"),
    ],
)
def test_files_of_other_commands_are_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, advice: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("# something else")
    outcome = run("solve", name)
    assert (outcome.code, outcome.err) == (2, f"clapas: {advice}\n")


def test_a_path_is_read(run: Run) -> None:
    assert run("solve", io.shipped("sliding-block.dat")).code == 0


def test_unsolved_problems_exit_with_1_cause_and_advice(run: Run) -> None:
    outcome = run("solve", HOPELESS, "--max-iterations", 3)
    assert outcome.code == 1
    assert "MAX_ITERATIONS: residual" in outcome.out
    assert "The iterations ran out" in outcome.out
    assert "Raise max_iterations" in outcome.out
    assert "known: no solution exists" in outcome.out


def test_answers_of_the_gallery_are_recognised(run: Run) -> None:
    assert "known: 1 solution; this is one of them" in run("solve", "gallery:one-stick").out


# -------------------------------------------------------------------- JSON


@pytest.mark.parametrize("source", ["example:two-blocks", "example:disc-column", "gallery:packing-plane-100"])
def test_json_and_file_tell_the_residual_that_the_problem_measures(
    run: Run, source: str, tmp_path: Path
) -> None:
    target = tmp_path / "solution.hdf5"
    outcome = run("solve", source, "--json", "--tol", "1e-9", "--out", target)
    assert outcome.code == 0
    document = outcome.document
    back = io.read(target)
    assert back.solution is not None
    assert document["residual"] == back.problem.residual(back.solution.r) <= 1e-9
    assert document["report"]["residual"] == document["residual"]
    assert (document["status"], document["solved"], document["tol"]) == ("SOLVED", True, 1e-9)
    assert document["out"] == str(target)
    assert document["problem"]["contacts"] == back.problem.n_contacts
    assert document["history"]["residuals"][-1] == document["residual"]
    assert document["history"]["iterations"][-1] == document["iterations"]
    np.testing.assert_array_equal(back.solution.u, back.problem.velocity(back.solution.r))
    np.testing.assert_array_equal(document["r"], back.solution.r)
    np.testing.assert_array_equal(document["u"], back.solution.u)
    assert (document["v"] is None) == (back.problem.form == "reduced")
    if back.problem.form == "global":
        np.testing.assert_array_equal(back.solution.v, back.problem.motion(back.solution.r))


def test_json_of_an_unsolved_problem(run: Run) -> None:
    outcome = run("solve", HOPELESS, "--max-iterations", 0, "--json")
    assert outcome.code == 1
    document = outcome.document
    assert (document["solved"], document["status"], document["iterations"]) == (False, "MAX_ITERATIONS", 0)
    assert document["cause"].startswith("The iterations ran out")
    assert np.shape(document["r"]) == (2, 2)
    assert document["residual"] == gallery.get("crushed-disc").problem.residual(np.zeros((2, 2)))


def test_json_of_a_proof_says_how_far_it_reaches(run: Run) -> None:
    notes = run("solve", "gallery:crushed-disc", "--json").document["method_notes"]
    assert any("closed and checked: no impulses" in note for note in notes)


def test_quiet_prints_nothing_when_solved(run: Run) -> None:
    outcome = run("solve", "example:two-blocks", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_quiet_still_tells_failure(run: Run) -> None:
    outcome = run("solve", HOPELESS, "--max-iterations", 3, "--quiet")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("clapas: not solved: MAX_ITERATIONS: residual ")


# -------------------------------------------------------------------- settings


def test_settings_reach_the_solver(run: Run) -> None:
    options = (
        "--solver",
        "nsgs",
        "--set",
        "local=alart-curnier",
        "--set",
        "order=shuffled",
        "--set",
        "order.seed=7",
    )
    document = run("solve", "example:two-blocks", "--json", "--time-limit", 60, *options).document
    assert "time_limit=60.0" in document["solver"]
    assert "local=AlartCurnier(" in document["solver"]
    assert "order=Shuffled(seed=7, once=False)" in document["solver"]


def test_threads_bound_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    receive = Watch.__call__

    def count_threads(watch: Watch, progress: Progress) -> bool:
        seen.append(numba.get_num_threads())
        return receive(watch, progress)

    monkeypatch.setattr(Watch, "__call__", count_threads)
    before = numba.get_num_threads()
    assert run("solve", "example:two-blocks", "--threads", 1).code == 0
    assert set(seen) == {1}
    assert numba.get_num_threads() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--solver", "ngs"), "no solver is called 'ngs' (did you mean 'nsgs'?)"),
        (("--solver", "nsgs", "--set", "relax=1"), "nsgs has no setting 'relax' (did you mean relaxation?)"),
        (("--solver", "nsgs", "--set", "relaxation=3"), "relaxation must be between 0 and 2, got 3.0"),
        (("--tol", "-1"), "tol must be positive, got -1.0"),
        (("--tol", "nan"), "tol must be positive, got nan"),
        (("--max-iterations", "-1"), "max_iterations must be at least 0, got -1"),
        (("--tol", "1e-3", "--set", "tol=1e-4"), "tol is set twice"),
        (("--solver", "nsgs", "--set", "form=bodies"), "form='bodies' needs a global problem"),
        (("--guess", "file"), "holds no guess"),
        (("--guess", "solution"), "holds no solution"),
        (("--kind", "global"), "expected"),
        (("--out", "/no/such/folder/solution.hdf5"), "--out: there is no folder '/no/such/folder'"),
    ],
)
def test_wrong_settings_exit_with_2(run: Run, options: tuple[str, ...], message: str) -> None:
    outcome = run("solve", "example:disc-column", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_reading_options_need_a_file(run: Run) -> None:
    outcome = run("solve", "gallery:rigid-square", "--kind", "local")
    assert outcome.code == 2
    assert "tell how to read a file" in outcome.err


# -------------------------------------------------------------------- asymmetric files


@pytest.fixture
def asymmetric(tmp_path: Path) -> Path:
    W = np.array([[2.0, 0.25], [0.0, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        io.write(tmp_path / "skew.hdf5", ContactProblem(W=W, q=[[-1.0, 0.1]], mu=0.5))
    return tmp_path / "skew.hdf5"


def test_an_asymmetric_matrix_is_noted_once(run: Run, asymmetric: Path) -> None:
    outcome = run("solve", asymmetric, "--json")
    assert outcome.err.count("W is not symmetric") == 1
    assert len(outcome.document["notes"]) == 1


def test_symmetrise(run: Run, asymmetric: Path, tmp_path: Path) -> None:
    target = tmp_path / "even.hdf5"
    outcome = run("solve", asymmetric, "--symmetrise", "--out", target)
    assert outcome.code == 0
    np.testing.assert_array_equal(io.read_problem(target).W.toarray(), [[2.0, 0.125], [0.125, 2.0]])


# -------------------------------------------------------------------- --out and --guess


def test_out_replaces_a_file_and_leaves_no_other(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "solution.hdf5"
    target.write_text("older")
    outcome = run("solve", "example:two-blocks", "--out", target)
    assert f"problem and solution written to {target}" in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["solution.hdf5"]
    assert io.read(target).solution is not None


def test_out_keeps_the_words_and_guesses_of_the_file(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.hdf5", tmp_path / "second.hdf5"
    problem = gallery.get("two-blocks").problem
    words = {"title": "Two", "description": "of them", "math_info": "W", "attributes": {"size": 2}}
    start = np.full((8, 3), 0.125)
    io.write(first, problem, guesses=[start], **words)
    assert run("solve", first, "--out", second).code == 0
    back = io.read(second)
    assert vars(back.info) == words
    np.testing.assert_array_equal(back.guesses[0].r, start)
    assert back.solution is not None


def test_an_unsolved_answer_is_written_and_continued(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "half.hdf5"
    outcome = run("solve", HARD, "--solver", "nsgs", "--max-iterations", 10, "--out", target)
    assert outcome.code == 1
    assert f"problem and best iterate written to {target}" in outcome.out
    assert f"clapas solve {target} --guess solution" in outcome.out
    stored = io.read(target)
    assert stored.solution is not None
    reached = stored.problem.residual(stored.solution.r)
    # In place: the file is read, continued and replaced.
    again = run("solve", target, "--guess", "solution", "--tol", "1e-5", "--out", target, "--json").document
    assert again["history"]["residuals"][0] == reached
    assert again["status"] == "SOLVED"
    stored = io.read(target)
    assert stored.solution is not None
    assert stored.problem.residual(stored.solution.r) == again["residual"] < reached


def test_the_guess_of_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "guess.hdf5"
    entry = gallery.get("one-stick")
    io.write(path, entry.problem, guesses=[entry.known.solutions[0]])
    cold, warm = (
        run("solve", path, "--solver", "nsgs", "--json", "--guess", word).document
        for word in ("zero", "file")
    )
    assert (cold["iterations"], warm["iterations"]) == (1, 0)


def test_a_disc_that_is_full_loses_no_report(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clapas.io.write", write)
    target = tmp_path / "solution.hdf5"
    outcome = run("solve", "example:two-blocks", "--out", target)
    assert outcome.code == 2
    assert "SOLVED: residual" in outcome.out
    assert "written to" not in outcome.out
    assert f"the solution could not be written to '{target}': No space left on device" in outcome.err


def test_out_must_not_be_a_folder(run: Run, tmp_path: Path) -> None:
    outcome = run("solve", "example:two-blocks", "--out", tmp_path)
    assert outcome.code == 2
    assert "is a folder" in outcome.err


# -------------------------------------------------------------------- stopping


def signal_at(iterations: int, number: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send this process a signal from inside the run, as a key press would."""
    receive = Watch.__call__

    def receive_and_signal(watch: Watch, progress: Progress) -> bool:
        if progress.iterations == iterations:
            for _ in range(times):
                signal.raise_signal(number)
        return receive(watch, progress)

    monkeypatch.setattr(Watch, "__call__", receive_and_signal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_keeps_the_answer(
    run: Run, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal_at(3, number, 1, monkeypatch)
    before = signal.getsignal(number)
    target = tmp_path / "stopped.hdf5"
    outcome = run("solve", HARD, "--solver", "nsgs", "--json", "--out", target)
    assert outcome.code == 1
    document = outcome.document
    assert (document["status"], document["iterations"]) == ("STOPPED", 3)
    stored = io.read(target)
    assert stored.solution is not None
    assert stored.problem.residual(stored.solution.r) == document["residual"]
    assert signal.getsignal(number) is before


def test_a_stopped_run_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    signal_at(2, signal.SIGINT, 1, monkeypatch)
    assert "STOPPED: residual" in run("solve", HARD, "--solver", "nsgs").out


def test_a_second_signal_gives_up_at_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signal_at(3, signal.SIGINT, 2, monkeypatch)
    before = signal.getsignal(signal.SIGINT)
    target = tmp_path / "stopped.hdf5"
    outcome = run("solve", HARD, "--solver", "nsgs", "--out", target)
    assert (outcome.code, outcome.out) == (130, "")
    assert not target.exists()
    assert signal.getsignal(signal.SIGINT) is before
