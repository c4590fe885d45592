"""The parts of the door to google-adk; they import it, and the door them."""
