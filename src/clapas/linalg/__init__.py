"""Linear algebra used by the problems and solvers: factorisations and block-sparse matrices."""
