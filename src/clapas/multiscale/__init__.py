"""Substructures and a coarse problem for any graph of links: cables, bars, frictional contacts."""

from clapas.multiscale.latin import History, MicroMacroLATIN, Substructured
from clapas.multiscale.laws import Coulomb, Law, Springs
from clapas.multiscale.problem import LinkProblem

__all__ = ["Coulomb", "History", "Law", "LinkProblem", "MicroMacroLATIN", "Springs", "Substructured"]
