"""Existing rows, and marks in the log.

key_values  a key's value as a text and as a literal of its column's type
key_order   the order of a key, and conditions of requests
chunk_sql   the statements of a chunk
chunks      chunks of rows in the order of a key
whole       all rows of a table without a key
slicing     rows into slices (compiled)
marks       marks by a row and by a savepoint's place
log_end_survey  where the logs of several databases end
"""
