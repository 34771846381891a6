"""What the sources have in common beside the bytes of rows.

In: small Protocols that a source implements.  Out: parts that a source is made of.  Nothing here knows a
database.

    catalogue_poller.py  looks at the catalogue in a thread of its own
    selection.py         which tables the filters capture
    wakeup.py            wakes a thread that waits for a socket
    notice_throttle.py   reports what anybody can cause, at most once a minute
    preflight/           probes, and findings about tables and columns
    reads/               SQL by a dialect, chunk reads and whole reads
"""
