"""What the source relies on and no document promises, tried on a user's own server.

assumptions     the seven, and how what was seen is judged
assumption_sql  the statements
log_observer    watches a database, and writes and removes rows of the signal table
"""
