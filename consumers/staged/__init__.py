"""What the targets have in common that take files, and merge them in SQL of their own: the warehouses.

In: a plan, and a staged batch.  Out: statements, each complete in itself, and a table that readers see
through a view.  Nothing here knows a driver.

    dialect   what a service's SQL does in its own way
    places    where view, table, state and stages are
    shape     which columns a table has, and where their values lie
    state     what is kept about a table, and the statement that moves it
    merge     a batch as the statements of one transaction
    versions  a history as the same statements
    view      what readers see, and pairs that nobody sees
    service   what a service implements, and its sessions
    carry     a frame as primitives, by Spark's expressions
    carriers  files of primitives, where a service can load them
    letters   dead letters in a table
    upkeep    tombstones, pairs, forgotten stages
    target    the promises of the contract, over all of these
"""
