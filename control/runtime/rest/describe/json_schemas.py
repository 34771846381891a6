"""The documents that the worker's REST takes and answers, as JSON schemas: Kafka Connect's, and ours.

In: nothing.  Out: schemas by the names that `route_descriptions.py` and the committed description use.
"""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_TEXT: Final[Schema] = {"type": "string"}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _map(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _object(*, optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return _whole(properties, optional)


def _whole(properties: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
        "additionalProperties": False,
    }


_STATE: Final[Schema] = {
    "type": "string",
    "enum": ["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"],
}
_SOURCE: Final[Schema] = {"const": "source"}
_TASK_ID: Final = _object(connector=_TEXT, task={"type": "integer"})
_WARNING: Final = _object(setting=_TEXT, code=_TEXT, kind=_TEXT, sentence=_TEXT, hint=_TEXT)
_WRONG_TABLE: Final = _object(table=_TEXT, code=_TEXT, sentence=_TEXT, hint=_TEXT)
_MAYBE: Final[Schema] = {"type": ["string", "null"]}
_NUMBER: Final[Schema] = {"type": ["number", "null"], "description": "null: not known"}
_LATE: Final = _object(publish=_NUMBER, wait=_NUMBER, merge=_NUMBER, whole=_NUMBER)
_STATE_WORD: Final[Schema] = {"enum": ["OK", "FAILING", "ERROR"]}
_TABLE_WORD: Final[Schema] = {
    "enum": ["SNAPSHOTTING", "REPLICATING", "FAILING", "SNAPSHOT", "REPLICATE", "ERROR"]
}
_FAILURE: Final[Schema] = {
    "oneOf": [
        {"type": "null"},
        _object(message=_TEXT, stackTrace=_list({"type": "object"}), code=_TEXT, hint=_TEXT),
    ]
}
_APART: Final[Schema] = {**_map(_ref("Wrong")), "description": "by half: why its part is missing"}

_SUPPORT: Final[Schema] = {"type": "string", "enum": ["YES", "PARTIAL", "NO"]}
_TABLE_NAMES: Final[Mapping[str, Any]] = dict.fromkeys(("database", "schema", "name", "table"), _TEXT)
_COLUMN_COUNTS: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        "numColumns",
        "columnsNotSupported",
        "numColumnsNotSupported",
        "columnsPartiallySupported",
        "numColumnsPartiallySupported",
    ),
    _NUMBER,
)
_PROBLEMS: Final[Mapping[str, Any]] = dict.fromkeys(
    ("features", "featureProblems", "connectivity", "connectivityProblems"), _list(_ref("Finding"))
)

SCHEMAS: Final[Mapping[str, Schema]] = {
    "Error": {
        **_object(
            error_code={"type": "integer", "description": "the status"},
            message={"type": "string", "description": "what is wrong"},
            code={"type": "string", "description": "not in Kafka Connect; see: wrackline errors <code>"},
            hint={"type": "string", "description": "not in Kafka Connect: what to do"},
            stored={"type": ["object", "null"], "description": "if two edit one draft: what is stored"},
            sent={"type": "object", "description": "if two edit one draft: what was sent"},
        ),
        "required": ["error_code", "message"],
    },
    "Worker": _object(version=_TEXT, commit=_TEXT, kafka_cluster_id=_MAYBE),
    "Health": _object(status=_TEXT, message=_TEXT),
    "Document": {"type": "object"},
    "Names": _list(_TEXT),
    "Connectors": {
        "oneOf": [
            _ref("Names"),
            _map(_object(optional=("info", "status"), info=_ref("Connector"), status=_ref("Status"))),
        ]
    },
    "Settings": {**_map(_TEXT), "description": "flat; a secret is shown as ***"},
    "SentSettings": {
        **_map({"type": ["string", "number", "boolean"]}),
        "description": "flat; a value that is not a string is stored as its JSON text",
    },
    "ChangedSettings": {
        **_map({"type": ["string", "number", "boolean", "null"]}),
        "description": "only the settings to change; null removes a setting",
    },
    "NewConnector": _object(
        optional=("initial_state",),
        name=_TEXT,
        config=_ref("SentSettings"),
        initial_state={"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
    ),
    "Connector": _object(
        optional=("warnings",),
        name=_TEXT,
        config=_ref("Settings"),
        tasks=_list(_TASK_ID),
        type=_SOURCE,
        warnings={
            **_list(_WARNING),
            "description": "not in Kafka Connect; in answers to sent settings: those without effect",
        },
    ),
    "Status": _object(
        optional=("tables_with_errors",),
        name=_TEXT,
        connector=_object(state=_STATE, worker_id=_TEXT),
        tasks=_list(_ref("TaskStatus")),
        type=_SOURCE,
        tables_with_errors={
            **_object(count={"type": "integer"}, first=_list(_WRONG_TABLE)),
            "description": "not in Kafka Connect: the first 20 tables that are set aside, or lack rows",
        },
    ),
    "TaskStatus": _object(
        optional=("trace",), id={"type": "integer"}, state=_STATE, worker_id=_TEXT, trace=_TEXT
    ),
    "Tasks": _list(_object(id=_TASK_ID, config=_ref("Settings"))),
    "TaskSettings": {**_map(_ref("Settings")), "description": "by <connector>-<task>"},
    "Topics": _map(_object(topics=_list(_TEXT))),
    "Offsets": _object(offsets=_list(_object(partition=_map(_TEXT), offset={"type": "object"}))),
    "ChangedOffsets": _object(
        offsets=_list(_object(partition=_map(_TEXT), offset={"type": ["object", "null"]}))
    ),
    "OffsetHistory": _object(
        history=_list(
            _object(
                time=_TEXT,
                database=_TEXT,
                position={"type": "object"},
                place=_TEXT,
                generation={"type": "integer"},
            )
        ),
        left_out={"type": "integer", "description": "older ones that limit leaves out"},
    ),
    "Rewind": _object(optional=("as_new",), to=_TEXT, as_new={"type": "boolean"}),
    "Rewound": _object(
        dry_run={"type": "boolean"},
        as_new={"type": "boolean"},
        positions=_list(_object(database=_TEXT, now=_MAYBE, then=_TEXT, position={"type": "object"})),
    ),
    "Message": _object(message=_TEXT),
    "Plugins": _list(_whole({"class": _TEXT, "type": {"enum": ["source", "target"]}, "version": _TEXT})),
    "Definition": _object(
        name=_TEXT,
        type=_TEXT,
        required={"type": "boolean"},
        default_value=_MAYBE,
        importance={"type": "string", "enum": ["HIGH", "MEDIUM", "LOW"]},
        documentation=_TEXT,
        group=_TEXT,
        order_in_group={"type": "integer"},
        width=_TEXT,
        display_name=_TEXT,
        dependents=_list(_TEXT),
    ),
    "Definitions": _list(_ref("Definition")),
    "Judged": _object(
        name=_TEXT,
        error_count={"type": "integer"},
        groups=_list(_TEXT),
        configs=_list(
            _object(
                definition=_ref("Definition"),
                value=_object(
                    name=_TEXT,
                    value=_MAYBE,
                    recommended_values=_list(_TEXT),
                    errors=_list(_TEXT),
                    visible={"type": "boolean"},
                ),
            )
        ),
    ),
    "Wrong": _object(optional=("kind",), code=_TEXT, kind=_TEXT, sentence=_TEXT, hint=_TEXT),
    "Tables": _object(pipeline=_TEXT, tables=_map(_ref("Table")), errors=_APART),
    "Table": _object(
        source=_MAYBE,
        percent=_NUMBER,
        target=_MAYBE,
        seq=_MAYBE,
        behind=_NUMBER,
        held=_NUMBER,
        lag_ms=_NUMBER,
        freshness_ms=_NUMBER,
        dead_letters=_NUMBER,
        errors=_list(_ref("Wrong")),
    ),
    "TableWish": _object(table=_TEXT, wish={"type": "string", "enum": ["pause", "resume", "retry"]}),
    "Lag": _object(
        pipeline=_TEXT,
        databases=_map(
            _object(
                behind_bytes=_NUMBER,
                retained_bytes=_NUMBER,
                lost_in_s=_NUMBER,
                lag_ms=_NUMBER,
                idle_ms=_NUMBER,
                left_out=_map(_object(count={"type": "integer"}, tables=_list(_TEXT))),
            )
        ),
        tables=_map(
            _object(
                behind=_NUMBER,
                behind_s=_NUMBER,
                held=_NUMBER,
                lag_ms={"oneOf": [_LATE, {"type": "null"}]},
                freshness_ms=_NUMBER,
            )
        ),
        errors=_APART,
    ),
    "Assessment": _object(
        pipeline=_TEXT, ok={"type": "boolean"}, findings=_list(_ref("Finding")), at_ms={"type": "integer"}
    ),
    "TriedAssessment": _object(
        pipeline=_TEXT,
        ok={"type": "boolean"},
        verdict={"type": "string", "enum": ["good", "errors", "warnings"]},
        findings=_list(_ref("Finding")),
        accepted=_list(_object(id=_TEXT, reason=_TEXT, applies={"type": "boolean"})),
        trials=_list({"type": "object"}),
        forecast={"type": ["object", "null"]},
        at_ms={"type": "integer"},
    ),
    "Finding": {
        **_object(
            id=_TEXT,
            name=_TEXT,
            description=_TEXT,
            suggestion=_TEXT,
            impact=_TEXT,
            severity={"type": "string", "enum": ["ERROR", "WARNING", "INFO"]},
        ),
        "additionalProperties": True,  # its table and column
    },
    "SentDraft": {
        "type": "object",
        "required": ["config"],
        "properties": {"name": _TEXT, "config": {"type": "object"}},
        "description": "config: settings, or the stages and connections of CDAP's document",
    },
    "Draft": _object(
        id=_TEXT,
        tag={"type": "string", "description": "what If-Match takes, in quotes"},
        name=_TEXT,
        created={"type": "integer"},
        updated={"type": "integer"},
        by=_TEXT,
        form={"type": "string", "enum": ["stages", "flat", "toml"]},
        config={"type": ["object", "string"], "description": "a text only as toml"},
        ignored=_list(_object(property=_TEXT, why=_TEXT, hint=_TEXT, harmless={"type": "boolean"})),
    ),
    "Drafts": _list(_ref("Draft")),
    "Question": {
        "type": "object",
        "properties": {
            "config": {"type": "object"},
            **_TABLE_NAMES,
            "probe": {"type": "boolean", "description": "of assessPipeline: whether each server is tried"},
        },
        "description": "a table, and the configuration where no draft is named",
    },
    "SourceTables": _object(
        tables=_list(
            _object(
                **_TABLE_NAMES,
                **_COLUMN_COUNTS,
                rows=_NUMBER,
                bytes=_NUMBER,
                key=_list(_TEXT),
                support=_SUPPORT,
                selected={"type": "boolean", "description": "whether the configuration chooses it"},
            )
        ),
        total={"type": "integer"},
        next={"type": ["integer", "null"], "description": "after= of the next page"},
    ),
    "TableColumns": _object(
        **_TABLE_NAMES,
        primaryKey=_list(_TEXT),
        keyKind=_TEXT,
        columns=_list(
            _object(
                name=_TEXT,
                type=_TEXT,
                nullable={"type": "boolean"},
                identity={"type": "integer"},
                generated={"type": "boolean"},
            )
        ),
        features=_list(_ref("Finding")),
        featureProblems=_list(_ref("Finding")),
    ),
    "TableAssessment": _object(
        **_TABLE_NAMES,
        columns=_list(
            _object(
                sourceName=_TEXT,
                sourceType=_TEXT,
                kind=_MAYBE,
                targetName=_TEXT,
                targetType=_TEXT,
                support=_SUPPORT,
                loss=_TEXT,
                transforms=_list(_TEXT),
                suggestion={"type": ["object", "null"]},
            )
        ),
        **_PROBLEMS,
    ),
    "DraftAssessment": _object(
        ok={"type": "boolean"},
        accepted=_list(_object(id=_TEXT, reason=_TEXT, applies={"type": "boolean"})),
        trials=_list({"type": "object"}),
        tables=_list(_object(**_TABLE_NAMES, **_COLUMN_COUNTS)),
        findings=_list(_ref("Finding")),
        forecast={"type": "object"},
        **_PROBLEMS,
    ),
    "Deployment": _object(
        optional=("accept", "initial_state"),
        accept={**_list(_TEXT), "description": "ids of warnings that are confirmed"},
        initial_state={"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
    ),
    "Deployed": _object(optional=("file", "start"), name=_TEXT, state=_TEXT, file=_TEXT, start=_TEXT),
    "Signal": {
        **_object(
            optional=("id",),
            id=_TEXT,
            type={"type": "string", "description": "as in Debezium: execute-snapshot, …"},
            data={"type": "object"},
        ),
        "additionalProperties": True,
    },
    "Taken": _object(
        optional=("warning",),
        id=_TEXT,
        warning={"type": "object", "required": ["code"], "properties": {"code": _TEXT}},
    ),
    "Receipt": {
        "type": "object",
        "required": ["id", "database", "state"],
        "properties": {"id": _TEXT, "database": _TEXT, "state": _TEXT},
    },
    "Requests": _object(requests=_list(_ref("Receipt"))),
    "Receipts": _object(id=_TEXT, receipts=_list(_ref("Receipt"))),
    "StateQuestion": _object(
        optional=("offsetBasePath",),
        name=_TEXT,
        offsetBasePath={"type": "string", "description": "has no effect"},
    ),
    "State": _object(
        optional=("ignored",),
        sourceState=_STATE_WORD,
        sourceError=_FAILURE,
        targetState=_STATE_WORD,
        targetError=_FAILURE,
        tables=_list(
            _object(
                database=_TEXT,
                schema=_TEXT,
                table=_TEXT,
                state=_TABLE_WORD,
                error=_FAILURE,
                source=_MAYBE,
                target=_MAYBE,
                paused={"type": "boolean"},
                freshness_ms=_NUMBER,
                percent=_NUMBER,
            )
        ),
        as_of_ms=_NUMBER,
        silent=_list({"enum": ["source", "target"]}),
        ignored={**_list(_TEXT), "description": "fields that were sent and have no effect"},
    ),
    "Pipelines": _list(
        _object(
            name=_TEXT,
            source=_TEXT,
            target=_MAYBE,
            status=_TEXT,
            states=_map(_MAYBE),
            silent=_list(_TEXT),
            tables={"type": "integer"},
            tablesSnapshotting={"type": "integer"},
            tablesFailing={"type": "integer"},
            freshness_ms=_NUMBER,
            error=_MAYBE,
        )
    ),
    "Counts": _object(
        target=_MAYBE,
        metrics={**_map({"type": "number"}), "description": "their names begin with the target's kind"},
        tables=_list(_object(database=_TEXT, schema=_TEXT, table=_TEXT, metrics=_map({"type": "number"}))),
    ),
    "MaxGeneration": _object(maxGeneration={"type": ["integer", "null"]}),
    "Offset": _object(offset={"type": "object"}),
    "Application": _object(
        type={"const": "App"},
        name=_TEXT,
        appVersion=_TEXT,
        description=_TEXT,
        configuration={"type": "string", "description": "the settings as JSON; a secret is shown as ***"},
        programs=_list(_object(type=_TEXT, app=_TEXT, name=_TEXT, description=_TEXT)),
        artifact=_object(name=_TEXT, version=_TEXT, scope=_TEXT),
    ),
    "ProgramStatus": _object(status={"enum": ["STARTING", "RUNNING", "STOPPED", "FAILED"]}),
}
