"""The contract that producers and consumers share; it imports nothing else of Wrackline.

Rooms, each of which imports only rooms above it:

    tables              what a table, a type and a place in history are
    language            the small grammars that users write, and the findings and metrics that they read
    settings            what a setting is, how it is read, and what it may reach
    events              the bytes of an event in Kafka
    settings/declared   the settings of every pipeline, one file for each topic
    minutes             minutes in which copies were fresh enough, and those in which they were not
    kafka               the names of topics and the records that are not events
    pipelines           a whole configuration, and the plug-ins that it names

At the root are the modules that every room uses.

    errors.py         errors that say who acts, each with a code
    error_table.py    what a server's error number or SQLSTATE means
    message_texts.py  fills names into the texts of errors and findings
    redaction.py      secrets that can be carried but not shown
    untrusted.py      values of a document that an outsider may have changed
    versions.py       the versions of servers, jars and images
    jar_hashes.py     the sha256 of each jar
"""
