"""The catalogue: which tables there are, and what each table means to the rest of Wrackline.

In: information_schema, and the log's table maps.  Out: TableId, MySqlTableFacts, Projection.

    discover           queries the catalogue over a connection
    types              which kind each database type is
    facts              the catalogue's facts of a table, and how they fit the log
    shapes             a table map or the catalogue's facts as a Projection, by the rules about columns
    table_sizes        how large tables are, by the server's estimates
    foreign_keys       foreign keys that change rows without an event
"""
