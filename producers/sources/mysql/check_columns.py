"""What the rules about columns do to the tables that are copied, before the first row is.

A key that the rules would hide, a key column that is not there, a pattern that means no column, a
truncation of what is no text: the tables and the rules come in, findings go out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.check_access import readable
from wrackline.producers.sources.mysql.check_rules import of_error
from wrackline.producers.sources.mysql.discover import Catalogue
from wrackline.producers.sources.mysql.shapes import Shapes
from wrackline.schemas import projection
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.findings import Finding
from wrackline.schemas.table import TableId
from wrackline.schemas.types import Kind

_AS_TEXT = ColumnRules.of({"column.as.text": (".*",)})  # a type that is not known is named elsewhere


def ruled(connection: "Connection[Any]", rules: ColumnRules, tables: Sequence[TableId]) -> Iterator[Finding]:
    """Apply the rules to each table and say what does not fit."""
    as_set, as_text = Shapes(rules, Kind.ZONED_TIMESTAMP), Shapes(_AS_TEXT, Kind.ZONED_TIMESTAMP)
    sources = []
    for table, facts in Catalogue(connection, as_set).facts_of(tables).items():
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
    if not all(readable(connection, table, (), all_of_it=True) for table in tables):
        rules = replace(rules, excluded=())  # such a column may be there, and not be shown to us
    yield from projection.findings(rules, sources)
