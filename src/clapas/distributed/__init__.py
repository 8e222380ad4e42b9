"""The same step on many processes (MPI): domains, borders, one Coulomb problem."""
