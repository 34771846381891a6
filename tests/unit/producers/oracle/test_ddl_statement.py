"""What a statement of the log does to its table's rows."""

import pytest

from wrackline.producers.sources.oracle.follow.ddl_statement import DdlDeed, deed_of

STATEMENTS = {
    "truncate table orders;": DdlDeed.EMPTIES,
    'TRUNCATE  TABLE "SHOP"."ORDERS" DROP STORAGE': DdlDeed.EMPTIES,
    "/* drop table */ truncate -- a remark\n table orders": DdlDeed.EMPTIES,
    "drop table orders cascade constraints purge": DdlDeed.LEAVES,
    'drop table orders AS "BIN$abc==$0" ;': DdlDeed.LEAVES,
    'ALTER TABLE "SHOP"."ORDERS" RENAME TO "BIN$abc==$0" ;': DdlDeed.LEAVES,
    "alter table orders rename to orders_old": DdlDeed.LEAVES,
    "RENAME orders TO orders_old": DdlDeed.LEAVES,
    "alter table orders rename column a to b": DdlDeed.RENEWS,
    "alter table orders drop column a": DdlDeed.RENEWS,
    "alter table orders drop (a, b)": DdlDeed.RENEWS,
    "alter table orders set unused (a)": DdlDeed.RENEWS,
    "alter table orders add (a number default 5)": DdlDeed.KEEPS,
    "alter table orders modify a varchar2(20)": DdlDeed.KEEPS,
    "alter table orders truncate partition p1": DdlDeed.LOSES,
    "alter table orders drop subpartition p1": DdlDeed.LOSES,
    "ALTER TABLE orders DROP PARTITIONS p1, p2": DdlDeed.LOSES,
    "alter table orders exchange partition p1 with table x": DdlDeed.LOSES,
    "alter table orders split partition p1 at (5) into (partition a, partition b)": DdlDeed.LOSES,
    "alter table shop.orders merge subpartitions a, b into subpartition c": DdlDeed.LOSES,
    "alter table orders coalesce partition": DdlDeed.LOSES,
    'alter table "SHOP"."ORDERS" modify partition by hash (a) partitions 4 online': DdlDeed.LOSES,
    "alter table orders modify partition by range (a) (partition p values less than (1))": DdlDeed.LOSES,
    "alter table orders modify partition p1 unusable local indexes": DdlDeed.KEEPS,
    "alter table orders move partition p1 compress": DdlDeed.KEEPS,
    "alter table orders add partition p2 values less than (10)": DdlDeed.KEEPS,
    'alter table orders add ("DROP PARTITION" number)': DdlDeed.KEEPS,
    "alter table orders add (a varchar2(9) default 'rename to')": DdlDeed.KEEPS,
    "alter table orders add (a varchar2(9) default 'it''s -- drop')": DdlDeed.KEEPS,
    "create table orders (a number)": DdlDeed.KEEPS,
    "create index i on orders (a)": DdlDeed.KEEPS,
    "truncate cluster c": DdlDeed.KEEPS,
    "": DdlDeed.KEEPS,
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_a_statement_does(statement: str) -> None:
    assert deed_of(statement) is STATEMENTS[statement]
