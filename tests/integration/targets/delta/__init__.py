"""Delta as a target, in a real Spark."""
