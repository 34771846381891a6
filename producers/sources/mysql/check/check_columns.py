"""What the rules about columns do to the tables that are copied, before the first row is copied.

A key that the rules would hide, a key column that is not there, a pattern that matches no column, a
truncation of a value that is not text: the tables and the rules come in, findings go out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.check.check_access import can_read
from wrackline.producers.sources.mysql.check.check_rules import of_error
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events import projection
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

_AS_TEXT = ColumnRules.of({"column.as.text": (".*",)})  # an unknown type is reported elsewhere


def column_findings(
    connection: "Connection[Any]", rules: ColumnRules, tables: Sequence[TableId]
) -> Iterator[Finding]:
    """Apply the rules to each table and report what does not fit."""
    as_set, as_text = MySqlShapes(rules, Kind.ZONED_TIMESTAMP), MySqlShapes(_AS_TEXT, Kind.ZONED_TIMESTAMP)
    sources = []
    for table, facts in MySqlCatalogue(connection, as_set).facts_of(tables).items():
        try:
            sources.append(as_set.of_facts(facts).source)
        except OperatorNeeded as error:
            if error.code.startswith("filter."):
                yield of_error(error, table, impact="the table's changes are not copied")
                sources.append(as_text.of_facts(facts).source)
            elif facts.versioned:
                yield of_error(error, table, impact="the table is not copied")
            else:
                sources.append(as_text.of_facts(facts).source)
    if not all(can_read(connection, table, (), all_of_it=True) for table in tables):
        rules = replace(rules, excluded=())  # such a column may exist, and be hidden from us
    yield from projection.findings(rules, sources)
