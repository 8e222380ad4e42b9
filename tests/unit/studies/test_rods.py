"""Problems of rods as the study collects them."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import reduce
from clapas.studies.rods import UNITS, Found, RodTables, Units, collect, solved_by_auto


@pytest.fixture(scope="module")
def met() -> Found:
    return collect([(3, 9)], steps=80, probe=0.0)[0]


def test_problems_have_the_printed_sizes_and_conditioning() -> None:
    found = collect([(3, 9), (3, 5)], steps=120, probe=0.0)
    assert [f.problem.n_dof for f in found] == [54, 54]
    assert found[0].name == f"hair-54-{found[0].problem.n_contacts}"
    conditions = [np.linalg.cond(reduce(f.problem).W.toarray()) for f in found]
    assert max(conditions) > 1e5
    assert solved_by_auto(found)[0] == 2


@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
def test_units_do_not_change_a_problem(units: Units, met: Found) -> None:
    r = np.random.default_rng(0).normal(size=(met.problem.n_contacts, 3))
    problem, start = met.measured_in(units)
    own = met.problem.velocity(r) / units.velocity
    assert problem.velocity(r / (units.mass * units.velocity)) == pytest.approx(own, rel=1e-6)
    assert problem.residual(start) == pytest.approx(met.problem.residual(met.start), rel=1e-6)


def test_methods_start_from_the_step_before(met: Found) -> None:
    nothing = met.problem.residual(np.zeros_like(met.start))
    assert met.problem.residual(met.start) < nothing


def test_too_few_steps_and_wrong_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="limit must be positive"):
        RodTables(limit=0.0)
    with pytest.raises(SettingsError, match="at least 1"):
        RodTables(steps=0)
