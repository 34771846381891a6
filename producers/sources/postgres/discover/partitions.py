"""What the log carries of a partition's old rows, as it announces the partition beside its root.  Pure.

    R root, R partition, a row of root   ->   the partition's replica identity, at this place of the log

The server announces a partitioned table with the table's own identity, and logs each row with its
partition's.  So the partition's announcement counts: the catalogue shows only the current identity.
"""

from wrackline.producers.sources.postgres.connect.quoting import literal, table_name
from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import KeyKind, TableId, TableSchema

PARTITION_KEY_NOT_LOGGED = define(
    "pg.partition_key_not_logged",
    OperatorNeeded,
    "{table} has the key {columns}, but the log does not contain all of it for old rows in its partition"
    " {partition}",
    hint="as its owner, and again for each partition that is created later: {alter}; then read the table"
    " again: wrackline snapshot start <pipeline.toml> '{table}'",
)
PARTITION_ROW_NOT_LOGGED = define(
    "pg.partition_row_not_logged",
    OperatorNeeded,
    "{table} has no key, and the log does not contain all columns of old rows in its partition {partition}",
    hint="as its owner, and again for each partition that is created later: {alter}; then read the table"
    " again: wrackline snapshot start <pipeline.toml> '{table}'",
)


def check_logged(table: TableSchema, partition: Relation) -> None:
    """Refuse a partition whose old rows lack columns of the key, or any columns where there is no key.

    A partition that logs nothing of its old rows needs no check: the server refuses to change such rows.
    """
    if partition.replica_identity in {"f", "n"}:
        return
    logged = {column.name: column.identity for column in partition.columns}
    if logged.keys() >= set(table.key) and not any(logged.values()):
        return
    # With a column list the server can leave out a column here that it still sends; each partition has
    # the primary key of its root.
    unsaid = partition.replica_identity == "d" and table.key_kind is KeyKind.PRIMARY
    if all(logged.get(name, unsaid) for name in table.key or logged):
        return
    name = f"{partition.schema}.{partition.name}"
    alter = identity_full(table.id, partitioned=True)
    if not table.key:
        raise PARTITION_ROW_NOT_LOGGED(table=table.id, partition=name, alter=alter)
    raise PARTITION_KEY_NOT_LOGGED(table=table.id, columns=", ".join(table.key), partition=name, alter=alter)


def identity_full(table: TableId, *, partitioned: bool) -> str:
    """Write the SQL that logs whole old rows; an ALTER of a partitioned table does not reach its partitions.

    The block is a quoted text, because a name can contain the end of a dollar quote.
    """
    if not partitioned:
        return f"ALTER TABLE {table_name(table)} REPLICA IDENTITY FULL"
    parts = f"SELECT relid FROM pg_partition_tree({literal(table_name(table))})"  # noqa: S608 it is printed
    alter = "EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', part)"
    block = f"DECLARE part regclass; BEGIN FOR part IN {parts} LOOP {alter}; END LOOP; END"
    return f"DO {literal(block)}"
