"""A stand-in for SQL Server, for tests and the demo: TDS 7.4 over a model of change data capture.

It is not a SQL Server: what it does was written from public documents, and no real server was compared with
it. Decision 42 says which document each rule follows, and which statements it knows.

wire/    TDS as bytes model/   databases, tables, transactions, the capture job; deterministic tsql/
statements, read and run over the model front/   sockets, TLS, clients
"""
