"""Sessions with callbacks as they are judged: clauses and worlds of family CB, as data.

contract.toml says what of a trace has to be the reference's, in worlds of worlds.json;
mutants/ are references with a fault, which show that each clause finds one.
"""
