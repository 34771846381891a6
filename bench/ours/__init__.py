"""Our own side of each bench, as its users would run it."""
