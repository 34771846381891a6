"""The tables of one stream: how they appear, change and disappear as the log is read.

In: table maps, query events, snapshots of the catalogue.  Out: the shape and schema ids of a table's rows,
and steps such as Appeared, Reshaped and Vanished.

    table_tracker      which tables there are at this place of the log, each change reported once
    catalogue_snapshot reads the whole catalogue now and then, beside the log
    table_resolver     resolves a table in the log to its shape and the ids of its schemas
    table_map_cache    the current table maps, by number
    query_events       what a query event does
    signal_rows        the columns of the signal table
    signal_events      signals out of a rows event
"""
