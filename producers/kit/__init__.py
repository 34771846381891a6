"""What the sources have in common beside the bytes of rows.

In: small Protocols that a source implements.  Out: parts that a source is made of.  Nothing here knows a
database.

    catalogue_poller.py  looks at the catalogue in a thread of its own
    log_reports.py       numbers the log's reports, so that an older snapshot does not take one back
    known_tables.py      which tables there are, by number or by name, and what is reported of them
    step_log.py          the steps of a decoder until they are handed out
    selection.py         which tables the filters capture
    lent_connection.py   the catalogue's connection, for one caller at a time
    open_handles.py      closes the streams and readers that are left open
    polled_stream.py     the loop of a stream: read, look, take, wait
    database_topics.py   whether tables of several databases would share a topic
    wakeup.py            wakes a thread that waits for a socket
    readable.py          waits until a descriptor can be read
    notice_throttle.py   reports what anybody can cause, at most once a minute
    preflight/           probes, and findings about tables and columns
    reads/               SQL by a dialect, chunk reads and whole reads
"""
