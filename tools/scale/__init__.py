"""What docs/scale.md shows: measured, and written from the numbers."""
