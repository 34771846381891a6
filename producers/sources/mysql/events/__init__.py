"""The bytes of the binary log.  Pure: nothing here knows a connection, a captured table or a position.

In: an event's bytes.  Out: frozen values, or an error with a code where the bytes are broken or unknown.

    events             the frame of an event with its checksum, and the small events
    event_kinds        the events by number: which are read, skipped or refused
    packed_numbers     the two short forms of integers
    tagged_gtid        MySQL's GTID event with a tag
    packed_events      compressed events, unpacked into plain ones
    gtids              sets of GTIDs of both databases
    table_map          the log's description of a table
    wire_types         the log's numbers for types
    charsets           how the bytes of a character set become text
    charset_tables     where a server's character set differs from Python's codec
"""
