"""One folder a database; found by its name, listed nowhere."""
