"""The problems that come with the package: rebuilt here, compared, and solved by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from clapas.io import read, read_problem, shipped, write
from clapas.problems import ContactProblem, reduce

G_DT = 0.0981  # gravity during 10 ms, m/s


def two_blocks() -> tuple[ContactProblem, np.ndarray]:
    """A 1 kg box (side 0.2 m) on a 4 kg box (0.4 × 0.4 × 0.2 m) on the floor, under gravity."""
    masses, sides = (4.0, 1.0), (np.array([0.4, 0.4, 0.2]), np.array([0.2, 0.2, 0.2]))
    M, f = np.zeros((12, 12)), np.zeros(12)
    for k, (mass, side) in enumerate(zip(masses, sides, strict=True)):
        inertia = mass / 12.0 * (side @ side - side**2)
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.diag([mass] * 3 + inertia.tolist())
        f[6 * k + 2] = mass * G_DT
    H = np.zeros((24, 12))
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # normal, tangents
    for level, half in enumerate((0.2, 0.1)):
        for corner, (sx, sy) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1))):
            rows = slice(12 * level + 3 * corner, 12 * level + 3 * corner + 3)
            foot = np.array([sx * half, sy * half, -0.1])
            H[rows, 6 * level : 6 * level + 6] = _point_velocity(frame, foot)
            if level == 1:
                H[rows, 0:6] = -_point_velocity(frame, foot + np.array([0.0, 0.0, 0.2]))
    problem = ContactProblem(M=M, H=H, f=f, mu=np.full(8, 0.5), d=3, name="two-blocks")
    r = np.zeros((8, 3))
    r[:4, 0], r[4:, 0] = 5.0 * G_DT / 4.0, 1.0 * G_DT / 4.0
    return problem, r


def _point_velocity(frame: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Rows that give the velocity v + ω × arm in a frame from (v, ω)."""
    return np.hstack((frame, np.array([np.cross(arm, axis) for axis in frame])))


def sliding_block() -> tuple[ContactProblem, np.ndarray]:
    """A 2 kg block slides at 1 m/s along the first tangent; friction 0.3 slows it down."""
    problem = ContactProblem(W=0.5 * np.eye(3), q=[[-G_DT, 1.0, 0.0]], mu=[0.3])
    return problem, np.array([[2.0 * G_DT, -0.3 * 2.0 * G_DT, 0.0]])


def disc_column() -> ContactProblem:
    """A disc of 2 kg on a disc of 1 kg on the floor, in the plane; the upper one slides."""
    radius, masses, slide = 0.5, (1.0, 2.0), (0.0, 0.5)
    M = np.diag([x for mass in masses for x in (mass, mass, 0.5 * mass * radius**2)])
    free = np.array([x for speed in slide for x in (speed, -G_DT, 0.0)])
    foot, head = np.array([[0, 1, 0], [1, 0, radius]]), np.array([[0, 1, 0], [1, 0, -radius]])
    H = np.block([[foot, np.zeros((2, 3))], [-head, foot]])
    return ContactProblem(M=M, H=H, f=-M @ free, mu=[0.5, 0.3], d=2)


def disc_column_reduced() -> ContactProblem:
    column = disc_column()
    H, inverse = column.H.toarray(), np.diag(1.0 / column.M.diagonal())
    return ContactProblem(W=H @ inverse @ H.T, q=-H @ (inverse @ column.f), mu=column.mu, d=2)


def regenerate(folder: Path, print_problem: Callable[..., str]) -> None:
    """Write every shipped file; run on the folder of the package to replace them."""
    problem, r = two_blocks()
    write(
        folder / "two-blocks.hdf5",
        problem,
        solution=r,
        title="Two blocks",
        description="A 1 kg box rests on a 4 kg box on the floor: one step of 10 ms under gravity, SI units.",
        math_info="The normal impulses are not unique; the stored ones are the symmetric solution.",
    )
    text = {
        "sliding-block.dat": print_problem(sliding_block()[0], "dense"),
        "disc-column.dat": print_problem(disc_column_reduced(), "blocks"),
        "disc-column-global.dat": print_problem(disc_column(), "triplets", "columns"),
    }
    for name, content in text.items():
        (folder / name).write_text(content)


def test_stored_files_are_those_the_generator_makes(
    tmp_path: Path, print_problem: Callable[..., str]
) -> None:
    regenerate(tmp_path, print_problem)
    simulated = "hair-"  # steps of wound strands: see test_rod_files
    names = sorted(path.name for path in shipped().iterdir() if not path.name.startswith(simulated))
    assert names == sorted(path.name for path in tmp_path.iterdir())
    for name in names:
        assert shipped(name).stat().st_size < 30_000
        if name.endswith(".dat"):
            assert (tmp_path / name).read_text() == shipped(name).read_text()
        else:
            assert _datasets(tmp_path / name) == _datasets(shipped(name))


def _datasets(path: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            values = np.asarray(item[()])
            # The last bits of a computed u and v may change with the linear algebra library.
            computed = name in ("solution/u", "solution/v")
            if computed:
                content: tuple[object, ...] = (abs(values).max() < 1e-15,)
            elif values.dtype.kind == "f":  # so may those of masses, by a bit or two
                content = tuple(float(f"{value:.14e}") for value in values.ravel())
            else:
                content = (values.tobytes(),)
            found[name] = (item.dtype, item.shape, *content)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def test_two_blocks_rest() -> None:
    file = read(shipped("two-blocks.hdf5"))
    assert (file.format, file.kind, file.guesses, file.notes) == ("fclib", "global", (), ())
    assert file.solution is not None
    np.testing.assert_array_equal(file.solution.r, two_blocks()[1])
    assert file.problem.residual(file.solution.r) < 1e-15
    # The floor carries the weight of both: the sign of f and the transposition of H are right.
    assert file.solution.r[:4, 0].sum() == pytest.approx(5.0 * G_DT)


def test_sliding_block_is_solved_by_its_closed_form() -> None:
    problem = read_problem(shipped("sliding-block.dat"))
    assert problem.residual(sliding_block()[1]) < 1e-15


def test_disc_column_is_one_problem_in_two_forms() -> None:
    whole = read(shipped("disc-column-global.dat"))
    reduced = read(shipped("disc-column.dat"))
    assert (whole.kind, reduced.kind) == ("global", "local")
    assert whole.problem.form == "global"
    again = reduce(whole.problem)
    np.testing.assert_allclose(again.W.toarray(), reduced.problem.W.toarray(), atol=1e-15)
    np.testing.assert_allclose(again.q, reduced.problem.q, atol=1e-16)
    np.testing.assert_array_equal(again.mu, [0.5, 0.3])
