"""Substructuring with a coarse problem for any graph of links: cables, bars, frictional contacts."""

from clapas.multiscale.latin import MicroMacroLATIN
from clapas.multiscale.laws import Coulomb, Law, Springs
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructured import History, Substructured

__all__ = ["Coulomb", "History", "Law", "LinkProblem", "MicroMacroLATIN", "Springs", "Substructured"]
