"""Two engines in the same generated worlds, and what each of their differences is."""
