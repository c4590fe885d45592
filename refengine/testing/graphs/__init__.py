"""A world's face for LangChain and LangGraph, and playing what they compile.

Needs the extra ``langchain``; nothing outside imports it before a subject asks for it.
"""
