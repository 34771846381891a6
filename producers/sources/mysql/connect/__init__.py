"""Connections to MySQL and MariaDB, and what their errors mean.

In: the settings, or a statement.  Out: a connection, rows, or one of our errors with the side that acts.

    connect            logs in; each session has the same settings
    tls                the settings as a TLS context
    login_refusals     why the server did not let us in
    server_errors      what the number of a server's error means, and whether the operator has to act
    server_facts       which of the two databases a server is, and the settings that matter
    statement_rows     the binary rows of one SELECT, read from the socket
    quoting            names and texts as SQL and a shell take them
"""
