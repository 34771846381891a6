"""PostgreSQL 14 to 18: rows come by COPY into a temporary table, and are merged with their offsets.

Readers find a view under the table's own name, with the rows that live and are complete; behind it
is a table of ours, with tombstones and our columns, in a schema of its own.

In: settings; a plan and a frame.  Out: rows and offsets in one transaction.

    config, connect      what can be set; connections, one a batch
    target               the promises of the contract
    catalog              what the database says of the tables that are there
    table                creates the table and changes its shape
    stage, copy_lines    rows into a temporary table, as lines of COPY
    apply, applied       merges what is staged; how far a table has come
    sql/                 the statements
    letters, upkeep      dead letters; forgets old tombstones
    refusals             what an error of the server means
    check                findings of the preflight check
"""

from wrackline.consumers.targets.postgres.target import PLUGIN

__all__ = ["PLUGIN"]
