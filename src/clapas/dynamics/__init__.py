"""Time stepping: models, states, schemes, joints, sleep."""
