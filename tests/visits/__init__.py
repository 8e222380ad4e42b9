"""Visits: what people with a question of their own do first, using only what the documentation shows."""
