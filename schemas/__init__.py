"""The contract that producers and consumers share; it imports nothing else of Wrackline."""
