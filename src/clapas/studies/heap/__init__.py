"""Moreau's heap: slope, density, fossil layers, reciprocal cuts and the pressure on the ground.

========================  ====================================================================
``study``                 the study: run a heap or open one, measure, draw, compare, judge
``relaxation``            relaxation of a run stopped while the heap grew
``measures``              measures, each computed once
``layers``                fossil layers and the forces along them
``dip``                   the dip of the pressure on the ground
``cost``                  sweeps and contacts of a step against grains
``figures``               figures 2 to 6
``comparison``            numbers beside the printed ones
``judgement``             verdicts
========================  ====================================================================

Reference: Moreau 2003, section 9, figures 2 to 6.
"""

from clapas.studies.heap.measures import Measures
from clapas.studies.heap.study import Heap

__all__ = ["Heap", "Measures"]
