"""The console: the command line and the rest above the other three parts; data flows without it."""
