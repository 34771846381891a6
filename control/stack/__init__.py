"""The local stack: real servers as child processes, shared by the demo, the tests and the bench."""
