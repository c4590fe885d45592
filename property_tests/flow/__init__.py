"""The Flow dialect as it is judged: clauses, worlds, checks and mutants of family FLOW.

contract.toml, cases.py → view.py reads a trace → checks/ decide → mutants/ prove them
"""
