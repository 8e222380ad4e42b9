"""Coulomb's law as a minimisation: merit functions, and the bipotential."""

from clapas.solvers.minimisation.bipotential import Bipotential
from clapas.solvers.minimisation.fischer_burmeister import FischerBurmeister
from clapas.solvers.minimisation.merit import MeritFunction

__all__ = ["Bipotential", "FischerBurmeister", "MeritFunction"]
