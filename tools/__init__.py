"""For those who work here: searches, page writers, records. Not in the wheel."""
