"""Assessments on the real servers: planted faults, what is found, what mends, what is left."""
