"""Oracle's types, and rows in the log and in chunks."""
