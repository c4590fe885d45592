"""The stream loop as it is judged: clauses, worlds, checks and mutants of family LOOP.

contract.toml, cases.py → view.py reads a trace → checks/ decide → mutants/ prove them
"""
