"""One batch of one table: from a range of offsets to one commit of rows and offsets.

In: a range, and what the table has applied.  Out: the merge, and a report of it.

    batch               the steps of a batch, and Spark's errors as ours
    planning            the plan of a batch, from the outlines of its records
    as_known            the plan of a batch that is written as the table's newest change was
    direct              a batch that the driver merges by itself
    evolve              how the target's table changes when the source's has changed
    key_change          which changes are void after a table's key has changed
    missing_keys        records that lack the key which their table has
    key_range           the least and the greatest key of a batch
    dead_letter_filter  finds the records that make a batch fail, and sets them aside
    replay              tries dead letters again
    report              what a batch has read and merged, and how long each step took
"""
