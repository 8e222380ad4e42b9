"""Time steps on many processes (MPI): domains, borders, one Coulomb problem."""
