"""Bodies: what gives mass matrices, free motion and contact rows."""
