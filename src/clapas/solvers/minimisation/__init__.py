"""Coulomb's law as the minimum of a function: a merit function, and the bipotential."""

from clapas.solvers.minimisation.bipotential import Bipotential
from clapas.solvers.minimisation.fischer_burmeister import FischerBurmeister
from clapas.solvers.minimisation.merit import MeritFunction

__all__ = ["Bipotential", "FischerBurmeister", "MeritFunction"]
