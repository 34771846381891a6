"""Existing rows, and marks in the log.

key_values  a key's value as a text and as a literal of its column's type
key_order   the order of a key, and conditions of requests
chunk_sql   the statements of a chunk
marks       marks by a row and by a savepoint's place
"""
