"""How well secrets are found, by our rules and by those of others."""
