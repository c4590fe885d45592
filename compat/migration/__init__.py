"""Old against new: run both in the same worlds, compare, shrink, explain."""
