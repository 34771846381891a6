"""The documents that the worker's REST takes and answers, as JSON schemas: Kafka Connect's, and ours.

In: nothing.  Out: schemas by the names that `route_descriptions.py` and the committed description use.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.control.runtime.rest.describe.lineage_schemas import LINEAGE_SCHEMAS
from wrackline.control.runtime.rest.describe.plane_schemas import PLANE_SCHEMAS
from wrackline.control.runtime.rest.describe.schema_parts import (
    MAYBE,
    NUMBER,
    TEXT,
    Schema,
    list_of,
    map_of,
    object_of,
    ref,
    whole,
)
from wrackline.control.runtime.rest.describe.slo_schemas import SLO_SCHEMAS

_STATE: Final[Schema] = {
    "type": "string",
    "enum": ["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"],
}
_SOURCE: Final[Schema] = {"const": "source"}
_TASK_ID: Final = object_of(connector=TEXT, task={"type": "integer"})
_WARNING: Final = object_of(setting=TEXT, code=TEXT, kind=TEXT, sentence=TEXT, hint=TEXT)
_WRONG_TABLE: Final = object_of(table=TEXT, code=TEXT, sentence=TEXT, hint=TEXT)
_WRONG_DATABASE: Final = object_of(database=TEXT, code=TEXT, sentence=TEXT, hint=TEXT)
_LATE: Final = object_of(publish=NUMBER, wait=NUMBER, merge=NUMBER, whole=NUMBER)
_APART: Final[Schema] = {**map_of(ref("Wrong")), "description": "by half: why its part is missing"}

SCHEMAS: Final[Mapping[str, Schema]] = {
    "Error": {
        **object_of(
            error_code={"type": "integer", "description": "the status"},
            message={"type": "string", "description": "what is wrong"},
            code={"type": "string", "description": "not in Kafka Connect; see: wrackline errors <code>"},
            hint={"type": "string", "description": "not in Kafka Connect: what to do"},
            stored={"type": ["object", "null"], "description": "if two edit one draft: what is stored"},
            sent={"type": "object", "description": "if two edit one draft: what was sent"},
        ),
        "required": ["error_code", "message"],
    },
    "Worker": object_of(version=TEXT, commit=TEXT, kafka_cluster_id=MAYBE),
    "Health": object_of(status=TEXT, message=TEXT),
    "Document": {"type": "object"},
    "Names": list_of(TEXT),
    "Connectors": {
        "oneOf": [
            ref("Names"),
            map_of(object_of(optional=("info", "status"), info=ref("Connector"), status=ref("Status"))),
        ]
    },
    "Settings": {**map_of(TEXT), "description": "flat; a secret is shown as ***"},
    "SettingsInForce": object_of(
        settings=list_of(
            object_of(
                name=TEXT,
                value={**MAYBE, "description": "a secret is shown as ***, a reference to one as it is"},
                origin={"type": "string", "enum": ["pipeline", "group", "default"]},
                default=MAYBE,
                changed={"type": "boolean", "description": "whether the value is not the default"},
                group=TEXT,
                doc=TEXT,
            )
        )
    ),
    "SentSettings": {
        **map_of({"type": ["string", "number", "boolean"]}),
        "description": "flat; a value that is not a string is stored as its JSON text",
    },
    "ChangedSettings": {
        **map_of({"type": ["string", "number", "boolean", "null"]}),
        "description": "only the settings to change; null removes a setting",
    },
    "NewConnector": object_of(
        optional=("initial_state",),
        name=TEXT,
        config=ref("SentSettings"),
        initial_state={"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
    ),
    "Connector": object_of(
        optional=("warnings",),
        name=TEXT,
        config=ref("Settings"),
        tasks=list_of(_TASK_ID),
        type=_SOURCE,
        warnings={
            **list_of(_WARNING),
            "description": "not in Kafka Connect; in answers to sent settings: those without effect",
        },
    ),
    "Status": object_of(
        optional=("databases_with_errors", "tables_with_errors"),
        name=TEXT,
        connector=object_of(state=_STATE, worker_id=TEXT),
        tasks=list_of(ref("TaskStatus")),
        type=_SOURCE,
        databases_with_errors={
            **object_of(count={"type": "integer"}, first=list_of(_WRONG_DATABASE)),
            "description": "not in Kafka Connect: of each task the first 20 databases that are not read",
        },
        tables_with_errors={
            **object_of(count={"type": "integer"}, first=list_of(_WRONG_TABLE)),
            "description": "not in Kafka Connect: the first 20 tables that are set aside, or lack rows",
        },
    ),
    "TaskStatus": object_of(
        optional=("trace",), id={"type": "integer"}, state=_STATE, worker_id=TEXT, trace=TEXT
    ),
    "Tasks": list_of(object_of(id=_TASK_ID, config=ref("Settings"))),
    "TaskSettings": {**map_of(ref("Settings")), "description": "by <connector>-<task>"},
    "Topics": map_of(object_of(topics=list_of(TEXT))),
    "Offsets": object_of(offsets=list_of(object_of(partition=map_of(TEXT), offset={"type": "object"}))),
    "ChangedOffsets": object_of(
        offsets=list_of(object_of(partition=map_of(TEXT), offset={"type": ["object", "null"]}))
    ),
    "Lines": object_of(
        sent={"type": "boolean", "description": "false: logs.topic is off"},
        lines=list_of(
            {
                "type": "object",
                "required": ["ts_ms", "line"],
                "properties": {"ts_ms": {"type": "integer"}, "line": TEXT},
            }
        ),
        left_out={"type": "integer", "description": "older ones that limit leaves out"},
    ),
    "AuditEntries": object_of(
        entries=list_of(
            object_of(
                ts_ms={"type": "integer"},
                level=TEXT,
                event=TEXT,
                line=TEXT,
                by=TEXT,
                what=TEXT,
                status={"type": "integer"},
            )
        ),
        left_out={"type": "integer", "description": "older ones that limit leaves out"},
    ),
    "OffsetHistory": object_of(
        history=list_of(
            object_of(
                time=TEXT,
                database=TEXT,
                position={"type": "object"},
                place=TEXT,
                generation={"type": "integer"},
            )
        ),
        left_out={"type": "integer", "description": "older ones that limit leaves out"},
    ),
    "Rewind": object_of(optional=("as_new",), to=TEXT, as_new={"type": "boolean"}),
    "Rewound": object_of(
        dry_run={"type": "boolean"},
        as_new={"type": "boolean"},
        positions=list_of(object_of(database=TEXT, now=MAYBE, then=TEXT, position={"type": "object"})),
    ),
    "Message": object_of(message=TEXT),
    "Plugins": list_of(whole({"class": TEXT, "type": {"enum": ["source", "target"]}, "version": TEXT})),
    "Definition": object_of(
        name=TEXT,
        type=TEXT,
        required={"type": "boolean"},
        default_value=MAYBE,
        importance={"type": "string", "enum": ["HIGH", "MEDIUM", "LOW"]},
        documentation=TEXT,
        group=TEXT,
        order_in_group={"type": "integer"},
        width=TEXT,
        display_name=TEXT,
        dependents=list_of(TEXT),
    ),
    "Definitions": list_of(ref("Definition")),
    "Judged": object_of(
        name=TEXT,
        error_count={"type": "integer"},
        groups=list_of(TEXT),
        configs=list_of(
            object_of(
                definition=ref("Definition"),
                value=object_of(
                    name=TEXT,
                    value=MAYBE,
                    recommended_values=list_of(TEXT),
                    errors=list_of(TEXT),
                    visible={"type": "boolean"},
                ),
            )
        ),
    ),
    "Wrong": object_of(optional=("kind",), code=TEXT, kind=TEXT, sentence=TEXT, hint=TEXT),
    "Tables": object_of(pipeline=TEXT, tables=map_of(ref("Table")), errors=_APART),
    "Table": object_of(
        source=MAYBE,
        percent=NUMBER,
        target=MAYBE,
        seq=MAYBE,
        behind=NUMBER,
        held=NUMBER,
        lag_ms=NUMBER,
        freshness_ms=NUMBER,
        dead_letters=NUMBER,
        errors=list_of(ref("Wrong")),
    ),
    "Events": object_of(
        topics=list_of(TEXT),
        events=list_of({"type": "object", "description": "as wrackline tail --json prints them"}),
        scanned={"type": "integer", "description": "records that were looked at"},
        next={"type": ["string", "null"], "description": "from, to go on; null: the topic's end"},
    ),
    "Shapes": object_of(
        subject=TEXT,
        left_out={"type": "integer", "description": "older versions"},
        shapes=list_of(
            object_of(
                version={"type": "integer"},
                schema_id={"type": "integer"},
                columns=list_of(
                    object_of(name=TEXT, type=TEXT, required={"type": "boolean"}, key={"type": "boolean"})
                ),
                changes=list_of(object_of(change=TEXT, column=TEXT, before=TEXT, after=TEXT)),
            )
        ),
    ),
    "Letters": object_of(
        groups=list_of(object_of(table=TEXT, code=TEXT, reason=TEXT, count={"type": "integer"})),
        letters=list_of(
            object_of(
                optional=("key", "value"),
                id=TEXT,
                table=TEXT,
                topic=TEXT,
                partition={"type": "integer"},
                offset={"type": "integer"},
                code=TEXT,
                reason=TEXT,
                kept_ms={"type": "integer"},
                bytes={"type": "integer"},
                key={"type": ["string", "null"], "description": "the first 1,024 bytes in hex"},
                value={"type": ["string", "null"], "description": "the first 1,024 bytes in hex"},
            )
        ),
        done=object_of(
            optional=("merged", "left", "errors", "dropped"),
            merged={"type": "integer"},
            left={"type": "integer"},
            errors=list_of({"type": "object"}),
            dropped={"type": "integer"},
        ),
    ),
    "TableWish": object_of(
        table=TEXT, wish={"type": "string", "enum": ["pause", "resume", "retry", "keep", "release"]}
    ),
    "Lag": object_of(
        pipeline=TEXT,
        databases=map_of(
            object_of(
                behind_bytes=NUMBER,
                retained_bytes=NUMBER,
                lost_in_s=NUMBER,
                lag_ms=NUMBER,
                idle_ms=NUMBER,
                left_out=map_of(object_of(count={"type": "integer"}, tables=list_of(TEXT))),
            )
        ),
        tables=map_of(
            object_of(
                behind=NUMBER,
                behind_s=NUMBER,
                held=NUMBER,
                lag_ms={"oneOf": [_LATE, {"type": "null"}]},
                freshness_ms=NUMBER,
            )
        ),
        errors=_APART,
    ),
    "Assessment": object_of(
        pipeline=TEXT, ok={"type": "boolean"}, findings=list_of(ref("Finding")), at_ms={"type": "integer"}
    ),
    "TriedAssessment": object_of(
        pipeline=TEXT,
        ok={"type": "boolean"},
        verdict={"type": "string", "enum": ["good", "errors", "warnings"]},
        findings=list_of(ref("Finding")),
        accepted=list_of(object_of(id=TEXT, reason=TEXT, applies={"type": "boolean"})),
        trials=list_of({"type": "object"}),
        forecast={"type": ["object", "null"]},
        at_ms={"type": "integer"},
    ),
    "Finding": {
        **object_of(
            id=TEXT,
            name=TEXT,
            description=TEXT,
            suggestion=TEXT,
            impact=TEXT,
            severity={"type": "string", "enum": ["ERROR", "WARNING", "INFO"]},
            connects={"type": "boolean", "description": "whether it is about reaching a server at all"},
        ),
        "additionalProperties": True,  # its table and column
    },
    "Signal": {
        **object_of(
            optional=("id",),
            id=TEXT,
            type={"type": "string", "description": "as in Debezium: execute-snapshot, …"},
            data={"type": "object"},
        ),
        "additionalProperties": True,
    },
    "Taken": object_of(
        optional=("warning",),
        id=TEXT,
        warning={"type": "object", "required": ["code"], "properties": {"code": TEXT}},
    ),
    "Receipt": {
        "type": "object",
        "required": ["id", "database", "state"],
        "properties": {"id": TEXT, "database": TEXT, "state": TEXT},
    },
    "Requests": object_of(requests=list_of(ref("Receipt"))),
    "Receipts": object_of(id=TEXT, receipts=list_of(ref("Receipt"))),
    **LINEAGE_SCHEMAS,
    **SLO_SCHEMAS,
    **PLANE_SCHEMAS,
}
