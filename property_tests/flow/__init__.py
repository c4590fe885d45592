"""The Flow dialect as it is judged: clauses, worlds and mutants of family FLOW.

contract.toml says what is compared, worlds.json where → mutants/ prove it
"""
