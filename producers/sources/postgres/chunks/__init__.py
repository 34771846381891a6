"""Existing rows: chunks between two keys, whole tables without a key, and the marks around them.

In: a request of the snapshot machine.  Out: slices of encoded rows, and marks that the log's reader can find.

    chunks             reads one chunk, and what the machine asks about keys and sizes
    whole              reads a table without a key at one place of the log
    marks              marks that the log shows again, and the gate before a SELECT
    key_order          comparisons of keys with bounds
    condition_sql      the condition of a request as SQL
    copy_lines         the lines of a COPY as they arrive
    slicing            lines of COPY into slices (compiled)
    key_uniqueness     whether chosen key columns distinguish rows
"""
