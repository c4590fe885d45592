"""Known failures: a file of them, what their worlds say now, and how it is written."""
