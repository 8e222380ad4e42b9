"""Numbers printed in Cadoux's thesis (2009): seconds in Scilab on a 3 GHz processor of 2005, and accuracies.

The accuracy is |f_AC(u, r)|²/(2 n d) with ρ = 1, equation 5.1; a run is solved when it is below 1e-6.
"""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple


class Timed(NamedTuple):
    """A printed run: seconds, and the accuracy reached."""

    seconds: float
    accuracy: float

    @property
    def is_solved(self) -> bool:
        """Whether the accuracy, printed rounded, is that required."""
        return self.accuracy <= 1e-6


class Described(NamedTuple):
    """A printed problem: n d / m, density and condition number of W, whether existence was certified."""

    ratio: float
    density: float
    condition: float
    is_certified: bool


# Keys are (degrees of freedom per system, systems, contacts).
Size = tuple[int, int, int]

# Tables 5.1 and 5.2: the random problems.
PROBLEMS: dict[Size, Described] = {
    (6, 7, 5): Described(0.36, 0.76, 110, True),
    (6, 8, 8): Described(0.5, 0.5, 5200, True),
    (6, 9, 11): Described(0.61, 0.4, 360000, True),
    (6, 10, 14): Described(0.7, 0.47, 5900, True),
    (6, 11, 17): Described(0.77, 0.33, 4200, True),
    (6, 12, 20): Described(0.83, 0.31, 73000, True),
    (6, 13, 23): Described(0.88, 0.3, 11000, True),
    (6, 14, 26): Described(0.93, 0.25, 4.1e07, True),
    (6, 15, 29): Described(0.97, 0.25, 9.1e08, True),
    (6, 16, 32): Described(1.0, 0.25, 1e18, False),
    (6, 17, 35): Described(1.03, 0.2, 2.7e17, False),
    (6, 18, 38): Described(1.06, 0.19, 7.6e17, False),
    (6, 19, 41): Described(1.08, 0.19, 9.3e17, False),
    (6, 20, 44): Described(1.1, 0.18, 3.5e17, False),
    (6, 21, 47): Described(1.12, 0.18, 6.6e17, False),
    (6, 125, 100): Described(0.4, 0.04, 140000, True),
    (6, 167, 200): Described(0.6, 0.03, 530000, True),
    (6, 187, 300): Described(0.8, 0.02, 2.4e07, True),
    (6, 200, 400): Described(1.0, 0.02, 8.4e18, False),
    (6, 208, 500): Described(1.2, 0.02, 5.7e19, False),
    (15, 50, 100): Described(0.4, 0.09, 19000, True),
    (15, 67, 200): Described(0.6, 0.07, 53000, True),
    (15, 75, 300): Described(0.8, 0.06, 570000, True),
    (15, 80, 400): Described(1.0, 0.05, 7.7e18, False),
    (15, 83, 500): Described(1.2, 0.05, 7.6e18, False),
    (36, 21, 100): Described(0.4, 0.18, 11000, True),
    (36, 28, 200): Described(0.6, 0.14, 50000, True),
    (36, 31, 300): Described(0.81, 0.13, 620000, True),
    (36, 33, 400): Described(1.01, 0.12, 5.3e18, False),
    (36, 35, 500): Described(1.19, 0.11, 3.4e19, False),
}

# Table 5.7: small random problems, limit 30 s.
SMALL_METHODS = ("AC", "DS", "GS", "FB", "H-pf", "NA-Newton", "NA-Broyden", "NA-pf")
SMALL: dict[Size, tuple[Timed, ...]] = {
    (6, 7, 5): (
        Timed(0.13, 5.2e-08),
        Timed(1.79, 5.7e121),
        Timed(0.5, 1.0e-08),
        Timed(8.31, 8.9e-17),
        Timed(0.32, 2.0e-07),
        Timed(1.5, 1.6e-12),
        Timed(0.46, 2.0e-07),
        Timed(2.34, 2.4e-07),
    ),
    (6, 8, 8): (
        Timed(30.0, 1.2),
        Timed(2.48, 2.7e159),
        Timed(30.0, 1.1),
        Timed(29.01, 1.0e-15),
        Timed(6.23, 7.5e-07),
        Timed(30.02, 1.2e-03),
        Timed(11.56, 1.0e-07),
        Timed(30.0, 7.3e-05),
    ),
    (6, 9, 11): (
        Timed(0.47, 4.9e-13),
        Timed(3.53, 1.3e193),
        Timed(1.1, 6.7e-07),
        Timed(30.0, 42),
        Timed(1.33, 7.0e-07),
        Timed(27.74, 2.5e-07),
        Timed(2.34, 1.5e-07),
        Timed(7.53, 9.5e-07),
    ),
    (6, 10, 14): (
        Timed(0.25, 5.8e-09),
        Timed(3.95, 1.7e260),
        Timed(5.02, 8.0e-07),
        Timed(30.0, 5.3e07),
        Timed(0.7, 2.7e-07),
        Timed(4.22, 9.5e-09),
        Timed(1.41, 7.9e-08),
        Timed(4.9, 2.5e-07),
    ),
    (6, 11, 17): (
        Timed(0.53, 7.7e-11),
        Timed(4.91, 4.1e167),
        Timed(1.73, 7.1e-07),
        Timed(30.0, 1.6e21),
        Timed(0.25, 3.7e-07),
        Timed(1.62, 6.0e-11),
        Timed(0.25, 2.6e-07),
        Timed(1.83, 2.5e-07),
    ),
    (6, 12, 20): (
        Timed(0.79, 7.6e-09),
        Timed(5.4, 5.8e121),
        Timed(2.39, 2.7e-07),
        Timed(30.0, 2.0e07),
        Timed(0.49, 6.3e-07),
        Timed(13.4, 2.4e-8),
        Timed(1.04, 4.7e-07),
        Timed(6.21, 7.3e-07),
    ),
    (6, 13, 23): (
        Timed(1.22, 1.4e-13),
        Timed(6.06, 1.5e168),
        Timed(30.0, 4.1e-03),
        Timed(30.0, 8.1e23),
        Timed(0.94, 1.3e-07),
        Timed(4.55, 3.0e-10),
        Timed(4.15, 5.5e-07),
        Timed(18.51, 7.2e-07),
    ),
    (6, 14, 26): (
        Timed(30.01, 2.8e-02),
        Timed(7.79, inf),
        Timed(30.0, 6.2e-02),
        Timed(30.0, 3.5e08),
        Timed(1.19, 5.3e-07),
        Timed(4.38, 1.3e-09),
        Timed(13.54, 5.5e-07),
        Timed(6.31, 5.4e-07),
    ),
    (6, 15, 29): (
        Timed(4.49, 2.7e-10),
        Timed(7.49, 6.9e161),
        Timed(30.0, 8.0e-01),
        Timed(30.0, 2.7e13),
        Timed(3.12, 8.1e-07),
        Timed(25.72, 2.8e-09),
        Timed(12.45, 4.7e-07),
        Timed(14.15, 6.1e-07),
    ),
    (6, 16, 32): (
        Timed(0.92, 1.6e-09),
        Timed(8.31, 1.7e71),
        Timed(4.19, 6.2e-07),
        Timed(30.0, 3.7e26),
        Timed(0.76, 8.5e-07),
        Timed(3.34, 4.8e-10),
        Timed(1.24, 3.7e-07),
        Timed(6.88, 4.4e-07),
    ),
    (6, 17, 35): (
        Timed(1.4, 6.1e-10),
        Timed(10.48, 2.3e282),
        Timed(3.03, 1.2e-07),
        Timed(30.0, 6.9e34),
        Timed(0.67, 2.7e-07),
        Timed(2.82, 3.0e-07),
        Timed(3.95, 2.0e-07),
        Timed(7.82, 9.7e-07),
    ),
    (6, 18, 38): (
        Timed(30.01, 1.8e-01),
        Timed(9.64, nan),
        Timed(30.0, 2.4e-05),
        Timed(30.0, 8.8e16),
        Timed(1.68, 3.4e-07),
        Timed(8.06, 2.7e-07),
        Timed(2.51, 5.6e-07),
        Timed(7.69, 6.0e-07),
    ),
    (6, 19, 41): (
        Timed(1.53, 5.3e-08),
        Timed(11.01, inf),
        Timed(30.0, 7.9e-06),
        Timed(30.0, 5.8e11),
        Timed(0.75, 5.6e-07),
        Timed(4.56, 1.1e-11),
        Timed(2.51, 4.3e-07),
        Timed(9.32, 7.1e-07),
    ),
    (6, 20, 44): (
        Timed(4.39, 1.8e-13),
        Timed(11.16, 1.4e71),
        Timed(30.0, 7.7e-06),
        Timed(30.0, 5.5e12),
        Timed(0.7, 5.1e-07),
        Timed(5.77, 2.7e-11),
        Timed(2.35, 2.6e-07),
        Timed(8.63, 5.6e-07),
    ),
    (6, 21, 47): (
        Timed(3.64, 7.2e-07),
        Timed(12.42, 4.3e190),
        Timed(30.0, 1.0e-05),
        Timed(30.0, 3.8e12),
        Timed(1.34, 7.3e-07),
        Timed(6.56, 1.6e-09),
        Timed(5.55, 6.4e-07),
        Timed(8.23, 2.9e-07),
    ),
}

# Table 5.9: large random problems, cap 60 s.
LARGE_METHODS = ("H-pf", "NA-Broyden", "NA-pf")
LARGE: dict[Size, tuple[Timed, ...]] = {
    (6, 125, 100): (Timed(60.04, 3.2e-03), Timed(53.08, 1.0e-06), Timed(6.22, 1.0e-06)),
    (6, 167, 200): (Timed(60.08, 3.5e-03), Timed(19.42, 9.9e-07), Timed(3.54, 9.9e-07)),
    (6, 187, 300): (Timed(10.08, 9.7e-07), Timed(60.31, 2.7e-03), Timed(11.73, 1.0e-06)),
    (6, 200, 400): (Timed(60.15, 9.0e-04), Timed(60.52, 7.5e-02), Timed(36.54, 9.9e-07)),
    (6, 208, 500): (Timed(60.57, 9.6e-03), Timed(60.54, 3.2e-01), Timed(60.04, 6.7e-03)),
    (15, 50, 100): (Timed(4.17, 1.0e-06), Timed(26.73, 9.5e-07), Timed(3.58, 9.6e-07)),
    (15, 67, 200): (Timed(6.43, 9.9e-07), Timed(60.3, 3.3e-04), Timed(6.19, 1.0e-06)),
    (15, 75, 300): (Timed(14.9, 9.8e-07), Timed(60.65, 2.7e-02), Timed(18.49, 1.0e-06)),
    (15, 80, 400): (Timed(47.65, 9.8e-07), Timed(60.11, 1.5e-01), Timed(60.72, 1.2e-06)),
    (15, 83, 500): (Timed(60.69, 2.0e-05), Timed(60.96, 8.8e-02), Timed(60.6, 3.5e-05)),
    (36, 21, 100): (Timed(2.92, 9.9e-07), Timed(46.64, 1.0e-06), Timed(4.03, 1.0e-06)),
    (36, 28, 200): (Timed(10.14, 1.0e-06), Timed(60.29, 5.7e-04), Timed(14.51, 9.8e-07)),
    (36, 31, 300): (Timed(41.13, 1.0e-06), Timed(60.53, 1.6e-02), Timed(51.61, 1.0e-06)),
    (36, 33, 400): (Timed(60.21, 5.0e-05), Timed(61.79, 2.2e-01), Timed(60.96, 5.7e-04)),
    (36, 35, 500): (Timed(60.25, 3.3e-02), Timed(62.83, 3.4e-01), Timed(62.7, 9.2e-02)),
}
