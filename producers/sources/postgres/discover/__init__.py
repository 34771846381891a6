"""The catalogue: which tables there are, and what each table means to the rest of Wrackline.

In: pg_class and its neighbours, relation messages, DDL messages.  Out: TableId, PgTableFacts, Projection.

    discover           queries the catalogue over a connection
    types              which kind each database type is
    facts              the catalogue's facts of a table, and whether an ALTER may have changed stored rows
    column_identity    which column of the log is which column of the catalogue
    generated_columns  which generated columns the log carries
    table_sizes        how large tables are, by the catalogue's estimates
    partitions         what the log carries of a partition's old rows
    ddl_messages       the SQL of the event trigger, and the messages that it writes
    ddl_trigger        the event trigger as the server has it, and its secret
"""
