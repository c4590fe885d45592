"""The command line: a table of commands, and one file for each.

It stands on top of all floors and opens each when a command needs it. A file of a
command says what may stand on its line, and does what the line asks for; what it needs
for that it imports inside its functions, so help and usage errors come at once.
"""
