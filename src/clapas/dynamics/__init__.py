"""Time stepping of rigid bodies: scenes, models, states, schemes."""
