"""Hostile input of all kinds: nothing lost, no traceback, no crash, no false statement, no hang.

Every file here is a fuzzer with a seed. The default suite runs a short sample of each; ``make torture`` runs
as many inputs and kills as ``INPUTS`` and ``KILLS`` say and prints the counts. ``harness`` has the parts they
share: isolated workers, mutations, tallies. Contact problems and LCPs have their place in
``test_problems.py``: a judge in ``worker.JUDGES``, a generator of inputs, and ``harness.fuzz``.
"""
