"""A stand-in for SQL Server, for tests and the demo: TDS 7.4 over a model of change data capture.

    model = ModelServer()
    model.create_login("reader", "secret", administrator=True)
    shop = model.create_database("shop")
    shop.create_table("dbo.orders", {"id": "int", "note": "nvarchar(max)"}, key=("id",))
    shop.enable_cdc()
    shop.enable_table("dbo.orders")
    with shop.transaction() as write:
        write.insert("orders", {"id": 1, "note": "new"})
    shop.scan()  # the capture job reads the log: nothing happens by itself
    with SqlServerStandin(model) as server:
        pytds.connect("127.0.0.1", "shop", "reader", "secret", port=server.port)

It is not a SQL Server: what it does was written from public documents, and no real server was compared with
it. Decision 42 says which document each rule follows, and which statements it knows.

wire/    TDS as bytes model/   databases, tables, transactions, the capture job; deterministic tsql/
statements, read and run over the model front/   sockets, TLS, clients agent   time and jobs that run by
themselves __main__   the stand-in as a process
"""
