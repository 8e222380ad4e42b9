"""An elastic rectangle pressed on rigid ground, condensed to its 26 contacts: a complementarity problem.

The numbers are those of the LMGC thesis on tensegrity (section 2.3), published as "mmc" among the test
problems of Siconos under the Apache License 2.0.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from clapas.problems.lcp import LCP

FILE = "elastic-rectangle.dat"


def elastic_rectangle() -> LCP:
    """The problem 0 ≤ z ⟂ M z + q ≥ 0 of table 2.4: z gaps at the contacts (m), M their stiffness.

    The file holds six integers, M by rows, and q.

    Examples
    --------
    >>> rectangle = elastic_rectangle()
    >>> rectangle
    LCP('elastic-rectangle', 26 unknowns, dense)
    >>> bool(np.allclose(rectangle.dense, rectangle.dense.T, rtol=1e-6))
    True
    """
    text = (resources.files("clapas.problems.gallery") / FILE).read_text(encoding="ascii")
    numbers = np.array(text.split(), dtype=np.float64)
    n = int(numbers[0])
    M, q = numbers[6 : 6 + n * n].reshape(n, n), numbers[6 + n * n :]
    return LCP(M, q, name=FILE.removesuffix(".dat"))
