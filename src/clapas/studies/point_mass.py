"""A point mass on the ground by laws in velocity and in displacement: the bench of section 6.1.2."""

from __future__ import annotations

from dataclasses import dataclass

from clapas.typing import Array

GRAVITY = 9.81  # m/s²


@dataclass(frozen=True, kw_only=True)
class PointMass:
    """A unit mass dropped from one metre, advanced by the θ-method with steps h (s).

    Three laws of contact for the force r ≥ 0 of the ground:

        velocity        e + (h/2) v ≤ 0  ⇒  0 ≤ v⁺ + restitution · v ⟂ r ≥ 0
        displacement    0 ≤ v⁺ + e/(θh) + ((1−θ)/θ) v ⟂ r ≥ 0
        elastic         0 ≤ v⁺ + r/(kh) + min(e, 0)/h ⟂ r ≥ 0    where the ground is touched

    The law in displacement requires e⁺ ≥ 0 at the end of the step. The resulting velocity depends on the
    instant of impact within the step: the rebound is set by h, not by a material.
    """

    h: float
    theta: float = 1.0
    duration: float = 4.0

    def velocity(self, restitution: float = 0.0) -> tuple[list[float], float]:
        """Heights (m), and the ratio of the speeds after and before the first impact, law in velocity."""
        e, v, heights, ratio = 1.0, 0.0, [], None
        for _ in range(round(self.duration / self.h)):
            after = v - GRAVITY * self.h
            if e + 0.5 * self.h * v <= 0.0 and after < -restitution * v:
                after = -restitution * v
                ratio = -after / v if ratio is None else ratio
            e += self.h * (self.theta * after + (1.0 - self.theta) * v)
            v = after
            heights.append(e)
        return heights, ratio or 0.0

    def displacement(self) -> tuple[list[float], float]:
        """Heights (m), and the ratio of the speeds after and before the first impact, law in displacement."""
        e, v, heights, ratio = 1.0, 0.0, [], 0.0
        arriving = 0.0
        for _ in range(round(self.duration / self.h)):
            free = v - GRAVITY * self.h
            trial = free + e / (self.theta * self.h) + (1.0 - self.theta) / self.theta * v
            after = free - min(trial, 0.0)
            if trial >= 0.0 and not ratio:
                arriving = min(arriving, after)
            elif trial < 0.0:
                ratio = max(ratio, -after / arriving)
            e += self.h * (self.theta * after + (1.0 - self.theta) * v)
            v = after
            heights.append(e)
        return heights, ratio

    def elastic(self, k: float, correct: bool = True) -> list[float]:
        """Heights (m) on a ground of stiffness k (N/m), with the term min(e, 0)/h or without."""
        e, v, heights = 1.0, 0.0, []
        for _ in range(round(self.duration / self.h)):
            after = v - GRAVITY * self.h
            if e + 0.5 * self.h * v <= 0.0:
                gap = after + (min(e, 0.0) / self.h if correct else 0.0)
                after += self.h * max(0.0, -gap / (self.h + 1.0 / (k * self.h)))
            e += self.h * after
            v = after
            heights.append(e)
        return heights


def sinking(heights: list[float] | Array) -> float:
    """Mean change of height per step over the second half (m)."""
    half = len(heights) // 2
    return float(heights[-1] - heights[half]) / (len(heights) - half - 1)
