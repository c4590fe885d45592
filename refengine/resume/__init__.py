"""What only runs that are kept need: their steps, their journal, going on."""
