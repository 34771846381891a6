"""One file for each bench; its name, with `-` for `_`, is the bench's name."""
