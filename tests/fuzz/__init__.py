"""Bytes of strangers against the parsers: `./run fuzz` looks for new ones, a unit test replays old ones."""
