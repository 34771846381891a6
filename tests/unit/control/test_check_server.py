"""What a check says of tables, beside what the source itself says."""

from wrackline.control.check_server import topic_findings
from wrackline.schemas.findings import Severity
from wrackline.schemas.table import TableId

ORDERS = TableId("d", "public", "orders")


def test_tables_that_would_share_a_topic_are_each_named() -> None:
    rivals = [TableId("d", "public", name) for name in ("a b", "a_b")]
    found = {finding.table: finding for finding in topic_findings("shop", [ORDERS, *rivals])}
    assert set(found) == set(rivals)
    assert {(one.id, one.severity) for one in found.values()} == {("topic.collision", Severity.ERROR)}


def test_a_table_whose_topic_would_be_too_long_is_named() -> None:
    long = TableId("d", "s" * 63, "t" * 63)
    [found] = topic_findings("p" * 130, [long])
    assert (found.id, found.table) == ("topic.too_long", long)
    assert not list(topic_findings("shop", [ORDERS, long]))
