"""The server's log as a sequence of packets, and the places in it.

In: a place, or a set of GTIDs.  Out: whole events from a socket, and positions for the offsets topic.

    position           a place in the log, as the offsets topic keeps it
    log_cursor         the current place, moved by each event
    stream_options     what a stream reads, and how much of it at once
    dump               requests the server's log
    packets            the events from one socket, without waiting
    dump_refusals      why a server does not send its log, or stopped sending it
"""
