"""Connections to PostgreSQL, and what their errors mean.

In: the settings, or a statement.  Out: a connection, rows, or one of our errors with the side that acts.

    connect            opens ordinary and replication connections; each session has the same settings
    timeouts           limits for a server that does not answer
    login_refusals     why the server did not let us in
    server_errors      what a SQLSTATE means, and whether the operator has to act
    quoting            names and texts as SQL and a shell take them
"""
