"""What BigQuery allows, as data: each figure is one of its quota page or of the page of its DDL.

A limit that a table or a statement of ours can reach is looked at before BigQuery refuses it.
"""

from typing import Final

MOST_TEXT: Final = 1024 * 1024  # bytes of a query before names are resolved
MOST_COLUMNS: Final = 10_000
MOST_CLUSTER_COLUMNS: Final = 4
MOST_PARTITIONS: Final = 4_000  # that one job may change
CLUSTERS: Final = frozenset(  # types, without their parameters
    {"BIGNUMERIC", "BOOL", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP"}
)
