"""An example of two plug-ins: a source that reads a journal, and a target that writes JSON lines.

In: lines that an application appends to a file.  Out: a file of rows for each table.

    journal   the file: its lines, its places, the tables and rows that it makes
    events    rows into the bytes of events
    stream    the log, from a place on
    reader    existing rows and marks
    source    the source's plug-in
    merge     a batch into the rows of a table
    files     tables and dead letters as files
    target    the target's plug-in
"""
