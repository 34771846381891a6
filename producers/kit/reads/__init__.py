"""Reads of existing rows: the part that is the same for every server.

In: a source's dialect, its columns and its queries.  Out: the SQL of a read, and the reads of the contract.

    dialect            how a server writes SQL, as one value
    key_order          comparisons of keys with bounds
    condition_sql      the condition of a request as SQL
    chunk_sql          the columns and rows that a chunk selects
    chunk_reads        chunks, and what the machine asks about keys and sizes
    whole_rows         all rows of a table without a key, in pieces of one statement
    row_tail           the second half of the values of rows that were read
"""
