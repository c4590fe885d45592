"""Playing what subjects of a migration build of our own dialects."""
