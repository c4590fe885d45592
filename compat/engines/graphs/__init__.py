"""What the doors to LangGraph and LangChain share: a model, tools and a run."""
