"""Opens the log where it was left: on the same server, on another server, or for the first time.

In: the saved position, the server's facts.  Out: a started log, or an error that says why it can't continue.

    log_opening        compares the saved position with the server and opens the log
    initial_gtids      the GTIDs that the log has before the first position
    large_offsets      a place behind 4 GB, for which a dump can't be requested
    xa_wait            waits for XA transactions from before the first start
    log_loss           which errors say that the log does not continue where it was left
    log_retention      how long the server keeps the part of the log that is still needed
"""
