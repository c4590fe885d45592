"""Recorded traffic of vendors' models, read into scenarios of our own notation."""
