"""The documents of CDAP's paths, as JSON schemas: drafts, assessments, states, applications.

In: nothing.  Out: schemas, which `json_schemas.py` puts among the others.
"""

from collections.abc import Mapping
from typing import Any, Final

from wrackline.control.runtime.rest.describe.schema_parts import (
    MAYBE,
    NUMBER,
    TEXT,
    Schema,
    list_of,
    map_of,
    object_of,
    ref,
)

_IGNORED: Final = list_of(object_of(property=TEXT, why=TEXT, hint=TEXT, harmless={"type": "boolean"}))
_NO_EFFECT: Final[Schema] = {"description": "has no effect"}
_STATE_WORD: Final[Schema] = {"enum": ["OK", "FAILING", "ERROR"]}
_TABLE_WORD: Final[Schema] = {
    "enum": ["SNAPSHOTTING", "REPLICATING", "FAILING", "SNAPSHOT", "REPLICATE", "ERROR"]
}
_FAILURE: Final[Schema] = {
    "oneOf": [
        {"type": "null"},
        object_of(message=TEXT, stackTrace=list_of({"type": "object"}), code=TEXT, hint=TEXT),
    ]
}
_SUPPORT: Final[Schema] = {"type": "string", "enum": ["YES", "PARTIAL", "NO"]}
_TABLE_NAMES: Final[Mapping[str, Any]] = dict.fromkeys(("database", "schema", "name", "table"), TEXT)
_COLUMN_COUNTS: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        "numColumns",
        "columnsNotSupported",
        "numColumnsNotSupported",
        "columnsPartiallySupported",
        "numColumnsPartiallySupported",
    ),
    NUMBER,
)
_PROBLEMS: Final[Mapping[str, Any]] = dict.fromkeys(
    ("features", "featureProblems", "connectivity", "connectivityProblems"), list_of(ref("Finding"))
)

PLANE_SCHEMAS: Final[Mapping[str, Any]] = {
    "SentDraft": {
        "type": "object",
        "required": ["config"],
        "properties": {"name": TEXT, "config": {"type": "object"}},
        "description": "config: settings, or the stages and connections of CDAP's document",
    },
    "Draft": object_of(
        id=TEXT,
        tag={"type": "string", "description": "what If-Match takes, in quotes"},
        name=TEXT,
        created={"type": "integer"},
        updated={"type": "integer"},
        by=TEXT,
        form={"type": "string", "enum": ["stages", "flat", "toml"]},
        config={"type": ["object", "string"], "description": "a text only as toml"},
        ignored=_IGNORED,
    ),
    "Drafts": list_of(ref("Draft")),
    "Question": {
        "type": "object",
        "properties": {
            "config": {"type": "object"},
            **_TABLE_NAMES,
            "probe": {"type": "boolean", "description": "of assessPipeline: whether each server is tried"},
        },
        "description": "a table, and the configuration where no draft is named",
    },
    "SourceTables": object_of(
        tables=list_of(
            object_of(
                **_TABLE_NAMES,
                **_COLUMN_COUNTS,
                rows=NUMBER,
                bytes=NUMBER,
                key=list_of(TEXT),
                support=_SUPPORT,
                selected={"type": "boolean", "description": "whether the configuration chooses it"},
                hidden={
                    "type": ["string", "null"],
                    "description": "why it can't be captured: not granted, unlogged",
                },
            )
        ),
        total={"type": "integer"},
        next={"type": ["integer", "null"], "description": "after= of the next page"},
    ),
    "TableColumns": object_of(
        **_TABLE_NAMES,
        primaryKey=list_of(TEXT),
        keyKind=TEXT,
        columns=list_of(
            object_of(
                name=TEXT,
                type=TEXT,
                nullable={"type": "boolean"},
                identity={"type": "integer"},
                generated={"type": "boolean"},
            )
        ),
        features=list_of(ref("Finding")),
        featureProblems=list_of(ref("Finding")),
    ),
    "TableAssessment": object_of(
        **_TABLE_NAMES,
        columns=list_of(
            object_of(
                sourceName=TEXT,
                sourceType=TEXT,
                kind=MAYBE,
                targetName=TEXT,
                targetType=TEXT,
                support=_SUPPORT,
                loss=TEXT,
                transforms=list_of(TEXT),
                suggestion={"type": ["object", "null"]},
            )
        ),
        **_PROBLEMS,
    ),
    "DraftAssessment": object_of(
        ok={"type": "boolean"},
        accepted=list_of(object_of(id=TEXT, reason=TEXT, applies={"type": "boolean"})),
        trials=list_of({"type": "object"}),
        tables=list_of(object_of(**_TABLE_NAMES, **_COLUMN_COUNTS)),
        findings=list_of(ref("Finding")),
        forecast={"type": "object"},
        **_PROBLEMS,
    ),
    "Deployment": object_of(
        optional=("accept", "initial_state"),
        accept={**list_of(TEXT), "description": "ids of warnings that are confirmed"},
        initial_state={"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
    ),
    "Deployed": object_of(optional=("file", "start"), name=TEXT, state=TEXT, file=TEXT, start=TEXT),
    "StateQuestion": object_of(
        optional=("offsetBasePath",),
        name=TEXT,
        offsetBasePath={"type": "string", "description": "has no effect"},
    ),
    "State": object_of(
        optional=("ignored",),
        sourceState=_STATE_WORD,
        sourceError=_FAILURE,
        targetState=_STATE_WORD,
        targetError=_FAILURE,
        tables=list_of(
            object_of(
                database=TEXT,
                schema=TEXT,
                table=TEXT,
                state=_TABLE_WORD,
                error=_FAILURE,
                source=MAYBE,
                target=MAYBE,
                paused={"type": "boolean"},
                freshness_ms=NUMBER,
                percent=NUMBER,
            )
        ),
        as_of_ms=NUMBER,
        silent=list_of({"enum": ["source", "target"]}),
        ignored={**list_of(TEXT), "description": "fields that were sent and have no effect"},
    ),
    "Pipelines": list_of(
        object_of(
            name=TEXT,
            source=TEXT,
            target=MAYBE,
            status=TEXT,
            states=map_of(MAYBE),
            silent=list_of(TEXT),
            tables={"type": "integer"},
            tablesSnapshotting={"type": "integer"},
            tablesFailing={"type": "integer"},
            freshness_ms=NUMBER,
            error=MAYBE,
        )
    ),
    "Counts": object_of(
        target=MAYBE,
        metrics={**map_of({"type": "number"}), "description": "their names begin with the target's kind"},
        tables=list_of(object_of(database=TEXT, schema=TEXT, table=TEXT, metrics=map_of({"type": "number"}))),
    ),
    "MaxGeneration": object_of(maxGeneration={"type": ["integer", "null"]}),
    "Offset": object_of(offset={"type": "object"}),
    "Application": object_of(
        type={"const": "App"},
        name=TEXT,
        appVersion=TEXT,
        description=TEXT,
        configuration={"type": "string", "description": "the settings as JSON; a secret is shown as ***"},
        programs=list_of(object_of(type=TEXT, app=TEXT, name=TEXT, description=TEXT)),
        artifact=object_of(name=TEXT, version=TEXT, scope=TEXT),
    ),
    "SentApplication": object_of(
        optional=("artifact", "description", "principal", "change", "parentVersion"),
        config={"type": "object", "description": "settings, or stages and connections, as of a draft"},
        **dict.fromkeys(("artifact", "description", "principal", "change", "parentVersion"), _NO_EFFECT),
    ),
    "MadeApplication": object_of(name=TEXT, ignored=_IGNORED),
    "ProgramStatus": object_of(status={"enum": ["STARTING", "RUNNING", "STOPPED", "FAILED"]}),
}
