"""The local stack: real servers, shared by the demo, the tests and the bench.

In: a folder.  Out: running servers with their addresses.

    stack        all servers of one folder, each started on first use
    servers      what can be relied on of each, wherever it runs
    containers   the same servers in containers
    kafka, registry, postgres            one server each
    binlog_server, mariadb, mysql        the MySQL family, and its two editions
    sqlserver_standin                    a stand-in for SQL Server, which is not one
"""
