"""One folder for each target. A target is found by the name of its folder, and no list names it.

In: a plan and a frame.  Out: rows and offsets in one commit.  `iceberg` and `delta` are formats of one lake
target (`consumers/lake/`); `postgres` is a database; `bigquery`, `redshift` and `snowflake` are warehouses
over `consumers/staged/`; `spanner` takes rows by key, in transactions of its own.  The same role has the same
file name in each.

    config          what can be set
    connect         where the tables are, and how they are reached
    target          the promises of the contract
    table           creates the table and changes its shape
    apply           brings a staged batch into the table
    applied         how far the table has come
    types, letters  how the target keeps types and dead letters
    upkeep, drop    keeps a table small; deletes it with its files
    check           findings of the preflight check

warehouse: what the folders of warehouses have in common; no target by itself.
google_account: whose rights a client of Google's services has; for `bigquery` and `spanner`.
"""
