"""Measurements of the compiled kernels; run ``python -m benchmarks.kernels`` from the repository root."""
