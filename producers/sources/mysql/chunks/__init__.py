"""Existing rows: chunks between two keys, whole tables without a key, and the marks around them.

In: a request of the snapshot machine.  Out: slices of encoded rows, and marks that the log's reader can find.

    chunks             reads one chunk, and what the machine asks about keys and sizes
    whole              reads a table without a key at one place of the log
    marks              marks that the log shows again, and the gate before a SELECT
    mark_settings      which kind of mark the settings choose
    read_session       a reader's connection: settings, transactions, end
    chunk_sql          the SQL of a chunk
    key_order          comparisons of keys with bounds
    key_values         a key's value as a cell, as saved text and as an SQL literal
    condition_sql      the condition of a request as SQL
    slicing            packets of rows into slices (compiled)
    key_uniqueness     whether chosen key columns distinguish rows
    bounded_query      one statement with a time limit
"""
