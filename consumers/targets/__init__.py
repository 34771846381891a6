"""One folder a target; found by its name, listed nowhere."""
