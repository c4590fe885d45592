"""The smallest world in which each broken adapter parts from the right engine.

    python -m tools.witnesses

finds all of them anew and writes them, and the page about the seeds.
"""
