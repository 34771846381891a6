"""What the source relies on and no document promises, tried on a user's own server.

assumptions     the seven, and how what was mined is judged
assumption_sql  the statements
redo_observer   writes into a table of its own, mines what came of it twice, and drops the table
"""
