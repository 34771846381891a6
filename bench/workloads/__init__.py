"""The data that benches run on: the same rows for the same seed, everywhere."""
