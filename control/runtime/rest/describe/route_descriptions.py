"""What each route is asked with and answers, for the committed description of the worker's REST.

In: nothing.  Out: a line for each route; what it names is in `json_schemas.py`, the roles are in `roles.py`.
`openapi.py` puts all together, and a test holds it against the application's own routes and answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from wrackline.control.runtime.rest.describe.schema_parts import PAGE, Schema


@dataclass(frozen=True, slots=True)
class RouteDescription:
    """One route: what it does, what it takes, and what it answers by status; None: no body."""

    summary: str
    answers: Mapping[int, str | None]
    body: str | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    errors: tuple[int, ...] = ()


_FLAG: Final[Schema] = {"type": "boolean", "default": False}
_BY_FILE = 405  # where a worker's files say which connectors it runs
_ASKS: Final = (409,)  # of what asks Kafka or a database: somebody has to do something first
_CHANGES: Final = (400, _BY_FILE, 413, 415)
_BODY: Final = (400, 415)
_OFFSET: Final = "/v1/contexts/{ns}/apps/{name}/generations/{generation}/instances/{instance}/offset"
_SIDE: Final[Schema] = {"type": "string", "enum": ["source", "target"], "default": "source"}
_EXPAND: Final[Schema] = {"type": "array", "items": {"type": "string", "enum": ["info", "status"]}}

_FORM: Final[Schema] = {"type": "string", "enum": ["stages", "flat", "toml"]}
_SENT: Final = (400, 413, 415)


def _questions(draft: str, about: str) -> Mapping[str, RouteDescription]:
    """Describe the questions about a draft, or about a configuration in the body."""
    path = f"POST /v1/contexts/{{ns}}/{draft}"
    errors = (*_ASKS, *_SENT)
    return {
        f"{path}listTables": RouteDescription(
            f"List the tables of the source of {about}",
            {200: "SourceTables"},
            None if draft else "Question",
            query=PAGE,
            errors=_ASKS if draft else errors,
        ),
        f"{path}describeTable": RouteDescription(
            f"Describe a table of the source of {about}", {200: "TableColumns"}, "Question", errors=errors
        ),
        f"{path}assessTable": RouteDescription(
            f"Say what each column of a table becomes in the target of {about}",
            {200: "TableAssessment"},
            "Question",
            errors=errors,
        ),
        f"{path}assessPipeline": RouteDescription(
            f"Check {about}, and report the findings", {200: "DraftAssessment"}, "Question", errors=errors
        ),
    }


ROUTES: Final[Mapping[str, RouteDescription]] = {
    "GET /": RouteDescription("Report the version and the Kafka cluster", {200: "Worker"}),
    "GET /health": RouteDescription("Report that the worker answers", {200: "Health"}),
    "GET /openapi.json": RouteDescription("Return this description", {200: "Document"}),
    "GET /connectors": RouteDescription(
        "List the connectors, by name or with details",
        {200: "Connectors"},
        query={"expand": _EXPAND},
        errors=(400,),
    ),
    "POST /connectors": RouteDescription(
        "Create a connector", {201: "Connector"}, "NewConnector", errors=_CHANGES
    ),
    "GET /connectors/{name}": RouteDescription("Describe a connector", {200: "Connector"}),
    "DELETE /connectors/{name}": RouteDescription(
        "Delete a connector; its positions are kept",
        {204: None},
        errors=(_BY_FILE,),
    ),
    "GET /connectors/{name}/config": RouteDescription("Return a connector's settings", {200: "Settings"}),
    "GET /connectors/{name}/settings": RouteDescription(
        "Return the settings that a connector runs with, and where each comes from",
        {200: "SettingsInForce"},
    ),
    "PUT /connectors/{name}/config": RouteDescription(
        "Replace a connector's settings, or create the connector",
        {200: "Connector", 201: "Connector"},
        "SentSettings",
        errors=_CHANGES,
    ),
    "PATCH /connectors/{name}/config": RouteDescription(
        "Change some of a connector's settings", {200: "Connector"}, "ChangedSettings", errors=_CHANGES
    ),
    "GET /connectors/{name}/status": RouteDescription(
        "Report the state of a connector and its task", {200: "Status"}
    ),
    "GET /connectors/{name}/topics": RouteDescription(
        "List the topics of a connector's tables", {200: "Topics"}, errors=_ASKS
    ),
    "PUT /connectors/{name}/topics/reset": RouteDescription(
        "Reset the list of used topics; it has no effect, because no list is kept", {202: None}
    ),
    "GET /connectors/{name}/offsets": RouteDescription(
        "Return a connector's positions", {200: "Offsets"}, errors=_ASKS
    ),
    "PATCH /connectors/{name}/offsets": RouteDescription(
        "Set the positions of a stopped connector", {200: "Message"}, "ChangedOffsets", errors=_CHANGES
    ),
    "DELETE /connectors/{name}/offsets": RouteDescription(
        "Delete the positions of a stopped connector", {200: "Message"}, errors=(400, _BY_FILE)
    ),
    "GET /connectors/{name}/offsets/history": RouteDescription(
        "Return the positions that were kept, oldest first",
        {200: "OffsetHistory"},
        query={"limit": {"type": "integer", "default": 1000}},
        errors=(400, *_ASKS),
    ),
    "POST /connectors/{name}/offsets/rewind": RouteDescription(
        "Continue where a stopped connector was at a moment, or report what that would do",
        {200: "Rewound"},
        "Rewind",
        query={"dry_run": _FLAG},
        errors=_CHANGES,
    ),
    "GET /connectors/{name}/tasks": RouteDescription("List a connector's tasks", {200: "Tasks"}),
    "GET /connectors/{name}/tasks-config": RouteDescription(
        "Return the settings of a connector's tasks", {200: "TaskSettings"}
    ),
    "GET /connectors/{name}/tasks/{task}/status": RouteDescription(
        "Report the state of a task", {200: "TaskStatus"}
    ),
    "POST /connectors/{name}/tasks/{task}/restart": RouteDescription("Restart a task", {204: None}),
    "PUT /connectors/{name}/tasks/{task}/pause": RouteDescription("Let a task rest", {202: None}),
    "PUT /connectors/{name}/tasks/{task}/resume": RouteDescription("Let a task continue", {202: None}),
    "PUT /connectors/{name}/pause": RouteDescription(
        "Pause a connector; its task remains listed", {202: None}
    ),
    "PUT /connectors/{name}/resume": RouteDescription("Resume a connector", {202: None}),
    "PUT /connectors/{name}/stop": RouteDescription("Stop a connector; it has no task then", {204: None}),
    "POST /connectors/{name}/restart": RouteDescription(
        "Restart a connector; with one of the two parameters the answer is 202 and the state",
        {202: "Status", 204: None},
        query={"includeTasks": _FLAG, "onlyFailed": _FLAG},
        errors=(400,),
    ),
    "GET /connectors/{name}/tables": RouteDescription(
        "Report the state of each table, at the source and in the target", {200: "Tables"}, errors=_ASKS
    ),
    "POST /connectors/{name}/tables/{table}/pause": RouteDescription(
        "Pause one table of the target", {202: "TableWish"}, errors=_ASKS
    ),
    "POST /connectors/{name}/tables/{table}/resume": RouteDescription(
        "Resume one table of the target", {202: "TableWish"}, errors=_ASKS
    ),
    "POST /connectors/{name}/tables/{table}/retry": RouteDescription(
        "Try one table of the target again that has stopped", {202: "TableWish"}, errors=_ASKS
    ),
    "POST /connectors/{name}/tables/{table}/keep": RouteDescription(
        "Keep the copy of a table that is gone at the source", {202: "TableWish"}, errors=_ASKS
    ),
    "POST /connectors/{name}/tables/{table}/release": RouteDescription(
        "Let the settings decide again what becomes of a copy", {202: "TableWish"}, errors=_ASKS
    ),
    "GET /connectors/{name}/tables/{table}/events": RouteDescription(
        "Return some of a table's events, decoded; it takes data = true in the users' file",
        {200: "Events"},
        query={
            "from": {"type": "string", "default": "newest"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
            "key": {"type": "string"},
            "op": {"type": "string", "enum": ["", "c", "u", "d", "r", "t"]},
        },
        errors=(400, *_ASKS),
    ),
    "GET /connectors/{name}/tables/{table}/shapes": RouteDescription(
        "Return the newest shapes of a table, with what each changed",
        {200: "Shapes"},
        errors=_ASKS,
    ),
    "GET /connectors/{name}/lineage": RouteDescription(
        "Report which column goes where: all tables now, or one table with what was before",
        {200: "Lineage"},
        query={"table": {"type": "string"}, "after": {"type": "string"}},
        errors=_ASKS,
    ),
    "GET /lineage": RouteDescription(
        "Report where a column came from and went to in all pipelines, at each time that is remembered",
        {200: "ColumnLineage"},
        query={"column": {"type": "string"}},
        errors=(400,),
    ),
    "GET /connectors/{name}/letters": RouteDescription(
        "Return the dead letters of the target; their bytes take data = true in the users' file",
        {200: "Letters"},
        errors=_ASKS,
    ),
    "POST /connectors/{name}/letters/replay": RouteDescription(
        "Merge dead letters again, those of one table or of all",
        {200: "Letters"},
        query={"table": {"type": "string"}},
        errors=(400, *_ASKS),
    ),
    "DELETE /connectors/{name}/letters/{id}": RouteDescription(
        "Drop a dead letter; its row never arrives",
        {200: "Letters"},
        errors=_ASKS,
    ),
    "GET /connectors/{name}/lag": RouteDescription(
        "Report how far each step is behind", {200: "Lag"}, errors=_ASKS
    ),
    "GET /connectors/{name}/slo": RouteDescription(
        "Report how the promise of freshness went, with the tables that had most bad minutes",
        {200: "Promise"},
        query={"table": {"type": "string", "description": "only this one"}},
        errors=(400, *_ASKS),
    ),
    "GET /connectors/{name}/logs": RouteDescription(
        "Return the newest lines that both halves have logged",
        {200: "Lines"},
        query={
            "level": {"enum": ["info", "warning", "error"], "default": "info"},
            "table": {"type": "string"},
            "since": {"type": "integer", "description": "milliseconds since 1970"},
            "limit": {"type": "integer", "default": 200},
        },
        errors=(400, *_ASKS),
    ),
    "GET /connectors/{name}/assessment": RouteDescription(
        "Check a connector, and report the findings", {200: "Assessment"}, errors=_ASKS
    ),
    "POST /connectors/{name}/assessment": RouteDescription(
        "Check a connector, try each of its servers, and forecast its first read",
        {200: "TriedAssessment"},
        errors=_ASKS,
    ),
    "GET /connectors/{name}/requests": RouteDescription(
        "Report the state of all requests", {200: "Requests"}, errors=_ASKS
    ),
    "POST /connectors/{name}/requests": RouteDescription(
        "Request existing rows, or stop, pause or resume their reading",
        {202: "Taken"},
        "Signal",
        errors=(400, 413, 415),
    ),
    "GET /connectors/{name}/requests/{id:path}": RouteDescription(
        "Report the state of one request", {200: "Receipts"}, errors=_ASKS
    ),
    "GET /audit": RouteDescription(
        "Return the writes that were asked for by REST and by the console",
        {200: "AuditEntries"},
        query={
            "since": {"type": "integer", "description": "milliseconds since 1970"},
            "limit": {"type": "integer", "default": 200},
        },
        errors=(400,),
    ),
    "GET /connector-plugins": RouteDescription(
        "List the installed sources, or targets", {200: "Plugins"}, query={"type": _SIDE}, errors=(400,)
    ),
    "GET /connector-plugins/{name}/config": RouteDescription(
        "Describe the settings of a source, or a target",
        {200: "Definitions"},
        query={"type": _SIDE},
        errors=(400,),
    ),
    "PUT /connector-plugins/{name}/config/validate": RouteDescription(
        "Validate settings without contacting a server", {200: "Judged"}, "SentSettings", errors=(400,)
    ),
    "GET /v1/health": RouteDescription("Report that the worker answers", {200: "Health"}),
    "POST /v1/contexts/{ns}/getState": RouteDescription(
        "Report the state of a pipeline and of its tables", {200: "State"}, "StateQuestion", errors=_BODY
    ),
    "GET /v1/contexts/{ns}/pipelines": RouteDescription("List the pipelines", {200: "Pipelines"}),
    "GET /v1/contexts/{ns}/pipelines/{name}/state": RouteDescription(
        "Report a pipeline's state in the words of a file of states", {200: "State"}
    ),
    "GET /v1/contexts/{ns}/pipelines/{name}/metrics": RouteDescription(
        "Return a pipeline's counts", {200: "Counts"}
    ),
    "GET /v1/contexts/{ns}/apps/{name}/maxgeneration": RouteDescription(
        "Return the newest epoch of a pipeline's positions", {200: "MaxGeneration"}, errors=_ASKS
    ),
    f"GET {_OFFSET}": RouteDescription(
        "Return the position of one part of a source", {200: "Offset"}, errors=_ASKS
    ),
    f"PUT {_OFFSET}": RouteDescription(
        "Set the position of one part of a stopped pipeline's source",
        {200: "Message"},
        "Offset",
        errors=_CHANGES,
    ),
    "GET /v3/apps/{name}": RouteDescription("Describe a connector as an application", {200: "Application"}),
    "GET /v3/namespaces/{ns}/apps/{name}": RouteDescription(
        "Describe a connector as an application", {200: "Application"}
    ),
    "PUT /v3/namespaces/{ns}/apps/{name}": RouteDescription(
        "Make a stopped connector of stages or settings, or give it other settings",
        {200: "MadeApplication"},
        "SentApplication",
        errors=_CHANGES,
    ),
    "DELETE /v3/namespaces/{ns}/apps/{name}": RouteDescription(
        "Delete a connector; its positions are kept", {200: None}, errors=(_BY_FILE,)
    ),
    "POST /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/start": RouteDescription(
        "Resume a connector", {200: None}
    ),
    "POST /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/stop": RouteDescription(
        "Stop a connector", {200: None}
    ),
    "GET /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/status": RouteDescription(
        "Report the state of a connector's source half", {200: "ProgramStatus"}
    ),
    "GET /v1/contexts/{ns}/drafts": RouteDescription(
        "List the drafts of pipelines; the header Link names the next page",
        {200: "Drafts"},
        query={
            "limit": {"type": "integer", "default": 1000, "minimum": 1, "maximum": 1000},
            "after": {"type": "string", "default": "", "description": "the id after which the page begins"},
        },
        errors=(400,),
    ),
    "GET /v1/contexts/{ns}/drafts/{id}": RouteDescription(
        "Return a draft; its ETag is for If-Match", {200: "Draft"}, query={"form": _FORM}, errors=(400, 409)
    ),
    "PUT /v1/contexts/{ns}/drafts/{id}": RouteDescription(
        "Make or replace a draft, with If-Match only the draft that was read",
        {200: "Draft"},
        "SentDraft",
        errors=(*_SENT, 412),
    ),
    "DELETE /v1/contexts/{ns}/drafts/{id}": RouteDescription("Delete a draft", {204: None}, errors=(412,)),
    "POST /v1/contexts/{ns}/drafts/{id}/deploy": RouteDescription(
        "Check a draft, and make its pipeline", {201: "Deployed"}, "Deployment", errors=(*_SENT, 412)
    ),
    **_questions("drafts/{id}/", "a draft"),
    **_questions("", "a configuration"),
}
