"""Reproductions of published results: each study writes a report with its numbers beside the printed ones."""
