"""What a table is: its identity, its columns and their types, and the order of its events.

In: nothing; these are values and pure functions that every part uses.  Out: frozen values.

    types.py               the table of types: each kind of value in Avro, Spark, Iceberg and Delta
    type_json.py           a type as JSON
    table.py               a table's identity and its shape
    evolution.py           the changes between two shapes of a table
    type_compatibility.py  whether a new type keeps every value of the old one
    seq.py                 the text that orders a table's events
    plain_cells.py         a driver's values in a plain form, so that those of two can be compared
    infinity.py            how PostgreSQL's infinite dates and times are stored
"""
