"""Programs as subjects: whole agents, in any language, judged over the wire."""
