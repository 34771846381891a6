"""The contract between a source and everything else in `producers`.

In: nothing; a source's folder implements these Protocols and makes these values.  Out: the steps of its log
and the chunks of its rows.  No part of `producers` knows more than this about a database.

    source_plugin.py      what a source's folder offers, and its parts: log, chunk reader, marks
    optional_parts.py     what a source may offer beside that
    trials.py             what a source tries before a start
    assumptions.py        what a source relies on, tried on a user's server
    steps.py              what a log becomes: batches of steps
    saved_fields.py       fields of a saved position, which are not trusted
    row_chunks.py         existing rows of one table between two keys
    snapshot_requests.py  requests to the snapshot machine, and what becomes of them
    first_reads.py        which existing rows a start requests
    uncaptured.py         why a table is not captured
"""
