"""Work on more than one process or machine: a scheduler of dask, and what is sent."""
