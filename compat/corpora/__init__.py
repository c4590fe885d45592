"""Corpora as files: sessions and worlds that are more than a machine's memory holds."""
