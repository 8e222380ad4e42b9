"""Statics of deformable bodies in contact."""
