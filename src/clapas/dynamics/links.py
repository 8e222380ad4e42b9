"""The links of a step: rows that kinds and joints bring to the contact problem, after the contacts.

Each has rows on the velocities of its owner; here they become rows on all velocities of the problem,

    H = [H_rigid  H_1  H_2  …],

those of joints first, then those of the systems in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.bodies.links import Account, Links
from clapas.dynamics.state import LinkImpulses
from clapas.typing import Array, Indices

OF_JOINTS = -1  # owner of the links that joints make


@dataclass(frozen=True, eq=False)
class LinkRows:
    """Links of all owners on all velocities of a problem.

    Parameters
    ----------
    owner : array (n,)
        System of each link, or ``OF_JOINTS``.
    links : Links
        Their rows, on all velocities.
    """

    owner: Indices
    links: Links

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, kept: Indices) -> LinkRows:
        """Some of the links."""
        return LinkRows(self.owner[kept], self.links.take(kept))

    def guess(self, old: LinkImpulses | None, ratio: float) -> Array:
        """Impulses (n, d) of the links that were there at the last step, zero for new ones."""
        if old is None:
            return np.zeros_like(self.links.w)
        return ratio * old.at(self.owner, self.links.identity)

    def impulses(self, r: Array) -> LinkImpulses:
        """The impulses (n, d) with the identities of the links."""
        return LinkImpulses(self.owner, self.links.identity, r)

    def work(self, r: Array, mean: Array, account: Account) -> float:
        """Work (J) of the impulses r (n, d) of one account at the mean velocities of the step.

        Velocities beyond the length of ``mean`` are zero.
        """
        chosen = self.links.account == account
        if not chosen.any():
            return 0.0
        all_velocities = np.zeros(self.links.H.shape[1])
        all_velocities[: len(mean)] = mean
        rate = np.asarray(self.links.H @ all_velocities).reshape(r.shape)
        return float(np.sum(r[chosen] * rate[chosen]))


def side_by_side(links: Sequence[Links | None], sizes: Sequence[int]) -> LinkRows | None:
    """Links on all velocities, from those of joints and then of each system; None if there are none.

    ``sizes`` are the numbers of velocities of the rigid bodies, of each system, and of what follows them.
    """
    ends = np.concatenate(([0], np.cumsum(sizes)))
    present = [(k, part) for k, part in enumerate(links) if part is not None and len(part)]
    if not present:
        return None
    wide = []
    for k, part in present:
        H = sparse.csr_array(part.H)
        columns = H.indices + ends[k]
        wide.append(sparse.csr_array((H.data, columns, H.indptr), shape=(H.shape[0], int(ends[-1]))))
    owner = np.concatenate([np.full(len(part), OF_JOINTS + k) for k, part in present])
    fields = (
        np.concatenate([getattr(part, name) for _, part in present])
        for name in ("identity", "w", "mu", "compliance", "account")
    )
    identity, w, mu, compliance, account = fields
    H = wide[0] if len(wide) == 1 else sparse.csr_array(sparse.vstack(wide, format="csr"))
    return LinkRows(owner, Links(identity, H, w, mu, compliance, account))
