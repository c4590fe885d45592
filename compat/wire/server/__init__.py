"""The scripted server: a scenario's model behind OpenAI's interface, on loopback.

This module imports nothing: checks of requests and scripts load no web server.
"""
