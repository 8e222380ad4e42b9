"""Reproductions of published results: each study reports its numbers beside the printed ones."""
