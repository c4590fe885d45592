"""Sessions with callbacks as they are judged: clauses, worlds and checks of family CB.

contract.toml, cases.py → view.py reads a trace → checks/ decide → mutants/ prove them
"""
