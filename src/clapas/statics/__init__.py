"""Static drivers: equilibrium without time."""
