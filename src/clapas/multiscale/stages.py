"""The values of both stages, of one substructure or of several, and the distance between them."""

from __future__ import annotations

import numpy as np

from clapas.typing import Array


class Stages:
    """State of an iteration: U, e, t and traces of the linear stage; e_hat, t_hat and h of the local one.

    Interface vectors are in units of the search direction (:mod:`clapas.multiscale.substructure`).
    """

    U: Array  # displacements
    e: Array  # elongations of the linear stage, of the local stage and of the previous local stage
    e_hat: Array
    e_before: Array
    t: Array  # forces of both stages
    t_hat: Array
    l: Array  # search direction of the links
    a: Array  # t̂ − l ê, relaxed
    h: Array  # F̂_m + Û_m of the interfaces, relaxed
    sent: Array  # U_m − F_m, as sent to the neighbours
    U_micro: Array
    F_micro: Array
    u_macro: Array
    f_macro: Array
    rest: Array  # forces of the law at rest
    _reference: Array

    def of_links(self, values: Array) -> Array:
        """Sum over the links, for each substructure."""
        return np.array([values.sum()])

    def of_interfaces(self, values: Array) -> Array:
        """Sum over the interfaces, for each substructure."""
        return np.array([values.sum()])

    def set_reference(self, elongations: Array) -> Array:
        """Set the reference elongations (rows,) of the error; returns their energy Σ l e²."""
        self._reference = elongations
        return self.of_links(self.l * elongations**2)

    def squared_error(self) -> Array:
        """Energy Σ l (e − e_ref)² of the distance of the linear stage to the reference elongations."""
        return self.of_links(self.l * (self.e - self._reference) ** 2)

    def distance(self) -> Array:
        """Squares Δη² and η̃² of the indicator, between the linear stage and the local stage before it.

        The third column is that of the forces at rest, relative to which an unloaded state is rounding.
        """
        U_hat, F_hat = 0.5 * (self.sent + self.h), 0.5 * (self.h - self.sent)
        gap_F = (self.F_micro - F_hat) - (self.U_micro - U_hat)
        gap_t = (self.t - self.t_hat) + self.l * (self.e - self.e_hat)
        mean_U, mean_F = 0.5 * (self.U_micro + U_hat), 0.5 * (self.F_micro + F_hat)
        # Forces are relative to those at rest (the prestress), as in the thesis.
        mean_e, mean_t = 0.5 * (self.e + self.e_hat), 0.5 * (self.t + self.t_hat) - self.rest
        distance = self.of_interfaces(gap_F**2) + self.of_links(gap_t**2 / self.l)
        size = self.of_interfaces(mean_U**2 + mean_F**2) + self.of_links(
            self.l * mean_e**2 + mean_t**2 / self.l
        )
        return 0.5 * np.column_stack((distance, size, self.of_links(self.rest**2 / self.l)))
