"""Judging engines: one world, one engine in its workers, all engines of a judgement."""
