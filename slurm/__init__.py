"""Where the matrix runs at scale: sweeps on SLURM through submitit."""
