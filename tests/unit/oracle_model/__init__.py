"""The model of an Oracle database, by itself: the tests of the source rely on it."""
