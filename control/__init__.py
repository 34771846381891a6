"""The console: the command line and what else stands over the other three; data flows without it."""
