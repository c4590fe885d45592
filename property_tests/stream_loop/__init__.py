"""The stream loop as it is judged: clauses and worlds of family LOOP, as data.

contract.toml says what of a trace has to be the reference's, in worlds of worlds.json;
mutants/ are references with a fault, which show that each clause finds one.
"""
