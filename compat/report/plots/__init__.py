"""The plots of a benchmark, drawn by matplotlib: a room that the extra bench opens."""
