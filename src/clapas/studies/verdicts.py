"""Verdicts: comparison of each printed number with ours, and a grade.

Studies grade their numbers here, so that all pages use the same words. Four grades:

* *reproduced*: ours rounds to the printed digits;
* *reproduced within …*: the distance, or the scatter that explains it, is stated;
* *not reproduced*: with the reason, or that none is known;
* *not determined by the text*: the publication omits information that would determine the number.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

REPRODUCED = "reproduced"
WITHIN = "reproduced within"
NOT_REPRODUCED = "not reproduced"
UNDETERMINED = "not determined by the text"
GRADES = (REPRODUCED, WITHIN, NOT_REPRODUCED, UNDETERMINED)

UNLIKELY = 0.05  # probability below which two counts are not draws of one chance


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A printed number, ours, and the grade.

    Parameters
    ----------
    source : str
        Publication, and place in it.
    quantity : str
        The quantity.
    printed, found : str
        The two numbers, as displayed.
    grade : str
        One of GRADES, "reproduced within" being followed by what.
    why : str
        The reason, unless the grade is simply "reproduced".
    """

    source: str
    quantity: str
    printed: str
    found: str
    grade: str
    why: str = ""

    def __post_init__(self) -> None:
        assert self.grade.startswith(GRADES), self.grade
        assert self.why or self.grade == REPRODUCED or self.grade.startswith(WITHIN), self.quantity

    def as_dict(self) -> dict[str, Any]:
        """Dictionary for the file of verdicts."""
        return asdict(self)


def of_number(
    source: str,
    quantity: str,
    printed: str,
    found: float,
    *,
    within: float = 0.0,
    unit: str = "",
    why: str = "",
) -> Verdict:
    """Judge a number against the digits printed.

    Parameters
    ----------
    source, quantity
        See :class:`Verdict`.
    printed : str
        The number with the digits of the print: "2.20" and "2.2" are not the same claim.
    found : float
        Ours.
    within : float
        Largest relative distance of a reproduction.
    unit : str
        Written after both.
    why : str
        Reason of a distance.

    Examples
    --------
    >>> of_number("Alart 1997, figure 3", "flexibility", "2.214", 2.2143).grade
    'reproduced'
    >>> of_number("Alart 1997, figure 3", "flexibility", "2.582", 2.5859, within=0.01).grade
    'reproduced within 0.15 %'
    >>> of_number("Alart 1997, figure 3", "flexibility", "2.582", 3.83, why="another body").grade
    'not reproduced'
    """
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    target = float(printed)
    distance = abs(found - target)
    share = distance / abs(target) if target else math.inf
    if distance <= 0.5 * 10.0**exponent * (1.0 + 1e-9):
        grade = REPRODUCED
    elif share <= within:
        grade = f"{WITHIN} {100 * share:.2g} %"
    else:
        grade, why = NOT_REPRODUCED, why or "the reason is not known"
    digits = max(3, len(Decimal(printed).as_tuple().digits) + 1)
    after = f" {unit}" if unit else ""
    return Verdict(
        source=source,
        quantity=quantity,
        printed=f"{printed}{after}",
        found=f"{found:.{digits}g}{after}",
        grade=grade,
        why="" if grade == REPRODUCED else why,
    )


def of_statement(
    source: str, quantity: str, printed: str, found: str, *, holds: bool, why: str = ""
) -> Verdict:
    """Judge a sentence of a publication that prints no number.

    Examples
    --------
    >>> of_statement("Moreau 2003, 8.1", "the bar", "stands or falls", "both", holds=True).grade
    'reproduced'
    """
    return Verdict(
        source=source,
        quantity=quantity,
        printed=printed,
        found=found,
        grade=REPRODUCED if holds else NOT_REPRODUCED,
        why=why or ("" if holds else "the reason is not known"),
    )


def of_counts(
    source: str, quantity: str, printed: tuple[int, int], found: tuple[int, int], *, why: str = ""
) -> Verdict:
    """Judge a count of successes on random draws, (successes, draws), where the printed draws are others.

    The same chance of success explains both counts unless Fisher's exact test finds that unlikely (5 %).

    Examples
    --------
    >>> of_counts("Cadoux 2009, table 5.7", "AC solved", (12, 15), (39, 45)).grade
    'reproduced within the scatter of draws'
    >>> of_counts("Cadoux 2009, table 5.7", "GS solved", (7, 15), (44, 45), why="another inner method").grade
    'not reproduced'
    """
    from scipy.stats import fisher_exact

    failed = [drawn - solved for solved, drawn in (printed, found)]
    chance = float(fisher_exact([[printed[0], failed[0]], [found[0], failed[1]]]).pvalue)
    same = printed[0] * found[1] == found[0] * printed[1]
    if same:
        grade = REPRODUCED
    elif chance >= UNLIKELY:
        grade = f"{WITHIN} the scatter of draws"
        why = why or f"other draws of the same family; chance {chance:.2g}"
    else:
        grade, why = NOT_REPRODUCED, why or "the reason is not known"
    return Verdict(
        source=source,
        quantity=quantity,
        printed=f"{printed[0]} of {printed[1]}",
        found=f"{found[0]} of {found[1]}",
        grade=grade,
        why="" if same else why,
    )
