"""The statements of a PostgreSQL target as composed SQL. Nothing here connects.

In: a plan, and the names and the shape of a table.  Out: statements.

    place     the names of a table and of its view
    shape     the columns that a table has in the target
    types     the type of each kind of value, and which types can widen
    merge     voids, deletes, updates and inserts of a staged batch
    history   the versions that follow from the events of a key
    view      what readers see of a table
    sequence  a feed's sequence from its text
"""
