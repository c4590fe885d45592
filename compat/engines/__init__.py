"""Doors to engines, one file each."""
