"""Laws of links, in the form needed by the local stage.

A link has one or several rows: elongations (or opening velocities) e = B U and forces t in the equilibrium
M U + Bᵀ t = F. The local stage intersects the line of the search direction, t̂ + l ê = s, with the law of the
link, each link separately:

    bar       t = t⁰ + k e                            t̂ = (k s + l t⁰) / (k + l)
    cable     t = max(t⁰ + k e, 0)                    t̂ = max((k s + l t⁰) / (k + l), 0)
    contact   t = −r, u = e + w + C r, Coulomb's law  r̂_N = ⟨−v_N⟩₊ / c_N,  r̂_T = P(−v_T / c_T) on the disc of
              between u and r                         radius mu r̂_N, with v = s/l + w and c = 1/l + C

and ê = (s − t̂)/l in every case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clapas.typing import Array, Indices, Mask


class Law(Protocol):
    """Law of the links of one substructure, as used by the local stage."""

    @property
    def n_rows(self) -> int:
        """Rows of all links."""
        ...

    def restrict(self, links: Indices) -> Law:
        """The law of some of the links."""
        ...

    def start(self) -> tuple[Array, Array]:
        """Forces t̂ and elongations ê from which the iterations begin, one per row; they obey the law."""
        ...

    def meet(self, s: Array, l: Array) -> Array:
        """Forces t̂ that obey the law on the line t̂ + l ê = s."""
        ...

    def stiffness(self) -> Array:
        """Largest slope of the law per row: the natural search direction l."""
        ...

    def tangent(self, e: Array) -> Array:
        """Slope of the law at the elongations e, to which directions may be adapted."""
        ...


@dataclass(frozen=True)
class Springs:
    """Bars and cables: one row per link.

    Parameters
    ----------
    k : array (m,)
        Stiffness, positive (N/m; k h in a time step).
    t0 : array (m,)
        Force at e = 0 (N), prestress.
    is_cable : array (m,) of bool
        Links that never push.

    Examples
    --------
    A cable without prestress, stretched and then pushed:

    >>> cable = Springs(np.array([2.0]), np.zeros(1), np.array([True]))
    >>> cable.meet(np.array([4.0]), np.array([2.0])), cable.meet(np.array([-4.0]), np.array([2.0]))
    (array([2.]), array([0.]))
    """

    k: Array
    t0: Array
    is_cable: Mask

    @property
    def n_rows(self) -> int:
        """Number of rows, one per link."""
        return len(self.k)

    def restrict(self, links: Indices) -> Springs:
        """Some of the links."""
        return Springs(self.k[links], self.t0[links], self.is_cable[links])

    def start(self) -> tuple[Array, Array]:
        """Links at rest, ê = 0: the prestress, zero in a cable that starts slack."""
        return self.forces(np.zeros(self.n_rows)), np.zeros(self.n_rows)

    def meet(self, s: Array, l: Array) -> Array:
        """Forces on the line t̂ + l ê = s."""
        t = (self.k * s + l * self.t0) / (self.k + l)
        return np.where(self.is_cable, np.maximum(t, 0.0), t)

    def stiffness(self) -> Array:
        """The stiffness k."""
        return self.k

    # For Newton's method:

    def forces(self, e: Array) -> Array:
        """Forces t at the elongations e."""
        t = self.t0 + self.k * e
        return np.where(self.is_cable, np.maximum(t, 0.0), t)

    def tangent(self, e: Array) -> Array:
        """Slopes dt/de: k, zero in slack cables; a cable on the limit counts as tight."""
        return np.where(self.is_cable & (self.t0 + self.k * e < 0.0), 0.0, self.k)

    def energy(self, e: Array) -> float:
        """Energy stored between e = 0 and e, up to a constant."""
        t = self.t0 + self.k * e
        stored = np.where(self.is_cable, np.maximum(t, 0.0) ** 2, t**2) / (2.0 * self.k)
        return float(stored.sum())


@dataclass(frozen=True)
class Coulomb:
    """Contacts with friction: d rows per link, normal first.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction.
    w : array (n, d)
        Velocity imposed at the contacts (m/s).
    response : array (n,)
        Velocity per impulse of each contact alone, λ (1/kg); its inverse is the natural direction.
    compliance : array (n, d)
        Diagonal of C, zero for rigid contacts.
    r, u : arrays (n, d)
        Impulses and velocities to start from.
    """

    mu: Array
    w: Array
    response: Array
    compliance: Array
    r: Array
    u: Array

    @property
    def n_rows(self) -> int:
        """Number of rows, d per contact."""
        return int(self.w.size)

    def restrict(self, links: Indices) -> Coulomb:
        """Some of the contacts."""
        parts = (self.mu, self.w, self.response, self.compliance, self.r, self.u)
        return Coulomb(*(part[links] for part in parts))

    def start(self) -> tuple[Array, Array]:
        """The impulses and velocities given to start from."""
        return -self.r.ravel(), (self.u - self.w - self.compliance * self.r).ravel()

    def meet(self, s: Array, l: Array) -> Array:
        """Minus the impulses on the line t̂ + l ê = s."""
        v = (s / l).reshape(self.w.shape) + self.w
        trial = -v / ((1.0 / l).reshape(self.w.shape) + self.compliance)
        normal = np.maximum(trial[:, 0], 0.0)
        size = np.sqrt(np.einsum("nk,nk->n", trial[:, 1:], trial[:, 1:]))
        radius = self.mu * normal
        shrink = np.where(size > radius, radius / np.where(size > 0.0, size, 1.0), 1.0)
        return -np.column_stack((normal, shrink[:, None] * trial[:, 1:])).ravel()

    def stiffness(self) -> Array:
        """1/λ of each contact, on all its rows."""
        return np.repeat(1.0 / self.response, self.w.shape[1])

    def tangent(self, e: Array) -> Array:
        """The same: Coulomb's law has no useful slope."""
        return self.stiffness()


@dataclass(frozen=True)
class SolidContact:
    """Elements of a deformable solid and its contacts: equally many rows per link, unused rows empty.

    Elements are linear springs along the modes of their stiffness; contacts use their first d rows.

    Parameters
    ----------
    springs : Springs
        All rows; those of contacts do not matter.
    contacts : Coulomb
        The contacts, in order.
    is_contact : array (links,) of bool
        Which links are contacts.
    """

    springs: Springs
    contacts: Coulomb
    is_contact: Mask

    @property
    def n_rows(self) -> int:
        """Number of rows of all links."""
        return self.springs.n_rows

    @cached_property
    def contact_rows(self) -> Indices:
        """Rows of the contacts, d each."""
        each = self.n_rows // max(len(self.is_contact), 1)
        first = each * np.flatnonzero(self.is_contact)
        return np.asarray((first[:, None] + np.arange(self.contacts.w.shape[1])).ravel())

    def restrict(self, links: Indices) -> SolidContact:
        """Some of the links."""
        each = self.n_rows // max(len(self.is_contact), 1)
        rows = (each * links[:, None] + np.arange(each)).ravel()
        number = np.cumsum(self.is_contact) - 1
        contacts = number[links[self.is_contact[links]]]
        return SolidContact(
            self.springs.restrict(rows), self.contacts.restrict(contacts), self.is_contact[links]
        )

    def start(self) -> tuple[Array, Array]:
        """Elements at rest, contacts from the forces given."""
        t, e = self.springs.start()
        t[self.contact_rows], e[self.contact_rows] = self.contacts.start()
        return t, e

    def meet(self, s: Array, l: Array) -> Array:
        """Forces on the line t̂ + l ê = s."""
        t = self.springs.meet(s, l)
        t[self.contact_rows] = self.contacts.meet(s[self.contact_rows], l[self.contact_rows])
        return t

    def stiffness(self) -> Array:
        """Stiffness k of elements, natural direction of contacts."""
        k = self.springs.k.copy()
        k[self.contact_rows] = self.contacts.stiffness()
        return k

    def tangent(self, e: Array) -> Array:
        """The same."""
        return self.stiffness()
