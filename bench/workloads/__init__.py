"""The data of the benches: the same rows for the same seed, everywhere."""
