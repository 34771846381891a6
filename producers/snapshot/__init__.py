"""Existing rows beside the log: the pure machine that decides what is read and when it goes out.

    request -> Plan -> ranges -> Read -> window -> slices between log transactions

In: requests, the log's steps, and outcomes of work.  Out: work, releases, and states to save.  No database,
no Kafka, no clock, no randomness: `machine.py` takes what happened and returns what to do.

    machine.py          the machine of one source partition
    snapshot_table.py   one table under way: its state, plan and windows
    table_state.py      a table's saved state
    stages.py           the life of a table and of a window, as docs/snapshots.md prints it
    jobs.py             what happens to a table's jobs: one state in, the next one out
    incomplete_rows.py  rows that the log sent in part, and dead letters
    window.py           the rows of one chunk until the log passes its mark
    gate.py             transactions that a SELECT may not see yet
    shape_changes.py    what a new shape means for rows that were sent
    key_bounds.py       a record's key as a bound for a SELECT
    work_items.py       what passes between the machine and the readers that do its work
    work_index.py       which tables want work
    receipt_changes.py  changes of receipts that follow from the states
"""
