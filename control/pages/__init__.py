"""Pages of docs/ that are printed from the code, so that they can't fall behind it."""
