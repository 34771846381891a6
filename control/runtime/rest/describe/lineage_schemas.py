"""The documents of lineage, as JSON schemas: the ways of columns and when they were so.

In: nothing.  Out: schemas, which `json_schemas.py` puts among the others.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.control.runtime.rest.describe.schema_parts import (
    MAYBE,
    TEXT,
    Schema,
    list_of,
    object_of,
    whole,
)

_PLACE: Final[Mapping[str, Schema]] = {"name": TEXT, "table": TEXT, "copy": TEXT}
_TIME: Final[Mapping[str, Schema]] = {
    "since_ms": {"type": "integer"},
    "until_ms": {"type": ["integer", "null"], "description": "null: now"},
}
_WAY: Final[Mapping[str, Schema]] = {
    **dict.fromkeys(("source", "type", "field", "kind", "target"), TEXT),
    "how": {"type": "string", "description": "what is done to values; empty: they stay the same"},
    "renamed": {"type": "boolean"},
}

LINEAGE_SCHEMAS: Final[Mapping[str, Schema]] = {
    "Lineage": object_of(
        pipeline=TEXT,
        tables=list_of(
            whole(
                {
                    **_PLACE,
                    "since_ms": {"type": "integer"},
                    "columns": list_of(whole({**_WAY, "since_ms": {"type": "integer"}})),
                    "left_out": list_of(TEXT),
                    "earlier": list_of(
                        whole({**_TIME, "columns": list_of(whole(_WAY)), "left_out": list_of(TEXT)})
                    ),
                },
                ("earlier",),
            )
        ),
        next={**MAYBE, "description": "after, to go on; null: there are no more"},
    ),
    "ColumnLineage": object_of(
        column=TEXT,
        spans=list_of(whole({"pipeline": TEXT, **_PLACE, **_TIME, **_WAY})),
        left_out={"type": "integer"},
        unknown={**list_of(TEXT), "description": "connectors whose settings are not good here"},
    ),
}
