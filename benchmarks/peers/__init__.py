"""Other agent frameworks, measured beside our engine on equal work.

``peer`` says what a framework gives, each framework has a module of its own that
imports it only when asked, and ``table`` lists them. ``child`` measures one framework
in a process of its own; ``measuring`` runs the children and returns what they found.
"""
