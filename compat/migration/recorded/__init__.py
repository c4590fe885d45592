"""OLD as a recording: a side that is looked up, since it does not run."""
