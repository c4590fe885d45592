"""Other agent frameworks, measured beside our engine on equal work.

``peer`` says what a framework gives and lists those that are measured; each has a
module in ``frameworks``, imported only where it is measured. ``child`` measures one
framework in a process of its own; ``measuring`` runs the children and returns what they
found.
"""
