"""Lineage: which tables and topics a pipeline reads and writes, column by column.

In: table shapes and the state of a run.  Out: maps of columns for the board, which keeps them; and
OpenLineage events, posted to an address or appended to a file.  A lost event never stops the pipeline.

    column_maps   which column goes where in each half
    column_paths  both halves joined: the way of each column, and since when

    run_events    the documents of the OpenLineage specification
    flows         which column comes from which
    runs          the events of one run: START, RUNNING, and how it ended
    sending       the queue and the thread that sends
    source_half   tables into topics
    target_half   topics into tables
"""
