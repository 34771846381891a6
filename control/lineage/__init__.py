"""OpenLineage: which tables a pipeline reads and writes, column by column, told to who keeps such maps."""
