"""The document of a promise of freshness, as a JSON schema.

In: nothing.  Out: a schema, which `json_schemas.py` puts among the others.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.control.runtime.rest.describe.schema_parts import (
    NUMBER,
    TEXT,
    Schema,
    list_of,
    object_of,
    whole,
)

_WHOLE: Final = {"type": "integer"}
_SLO_COUNTS: Final = {
    "percent": NUMBER,
    **dict.fromkeys(("good", "bad", "paused"), _WHOLE),
    "budget_left": {"type": "number"},
}

SLO_SCHEMAS: Final[Mapping[str, Schema]] = {
    "Promise": {
        "oneOf": [
            object_of(pipeline=TEXT, promise={"type": "null"}),
            whole(
                {
                    "pipeline": TEXT,
                    "promise": object_of(minutes=_WHOLE, percent={"type": "number"}, window_days=_WHOLE),
                    "at_ms": _WHOLE,
                    "since_ms": _WHOLE,
                    **_SLO_COUNTS,
                    "tables_counted": _WHOLE,
                    "tables_broken": _WHOLE,
                    "days": list_of(object_of(day_ms=_WHOLE, good=_WHOLE, bad=_WHOLE, paused=_WHOLE)),
                    "tables": list_of(whole({"table": TEXT, **_SLO_COUNTS})),
                    "left_out": _WHOLE,
                }
            ),
        ]
    },
}
