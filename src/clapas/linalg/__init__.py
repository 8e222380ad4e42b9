"""Linear algebra under the problems: factorisations and block-sparse matrices."""
