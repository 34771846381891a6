"""One folder for each database; it is found by its name, and listed nowhere."""
