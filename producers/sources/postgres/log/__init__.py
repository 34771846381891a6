"""The replication slot and the places in the server's log.

In: the saved position, the server's current state.  Out: where to begin, or why we can't continue.

    position           a place in the log, as the offsets topic keeps it
    continuity         whether the log continues at the saved position.  Pure
    slot               creates the slot, waits for it, asks where its log begins
    slot_health        the slot seen from outside: metrics, edits of offsets
"""
