"""Contact problems in files: FCLib (HDF5) and the text of Siconos."""

from clapas.io.files import read, read_problem, shipped, write
from clapas.io.record import Info, ProblemFile, StoredSolution

__all__ = ["Info", "ProblemFile", "StoredSolution", "read", "read_problem", "shipped", "write"]
