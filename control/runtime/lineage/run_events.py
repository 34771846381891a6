"""OpenLineage's run events, as its specification 2-0-2 has them.

In: a job, its datasets with their columns, and the state of its run.  Out: plain values for JSON.  Pure: the
moment and the run's id come from the caller.  An event may contain the name of a table or a column, but never
a value of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.versions import OURS

PRODUCER = f"urn:wrackline:{OURS}"

_SPEC = "https://openlineage.io/spec"

Json = dict[str, object]


class RunState(Enum):
    """What an event reports of a run."""

    START = "START"
    RUNNING = "RUNNING"  # more is known of its datasets
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"  # it was stopped on request
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """Which column a column comes from, and how."""

    of: Located
    column: str
    how: str = ""  # what was done to its values; empty: they are the same

    def document(self) -> Json:
        """Return it in the form of the columnLineage facet."""
        masked = bool(self.how)
        transformation: Json = {
            "type": "DIRECT",
            "subtype": "TRANSFORMATION" if masked else "IDENTITY",
            "description": self.how,
            "masking": masked,
        }
        return {**self.of._asdict(), "field": self.column, "transformations": [transformation]}


@dataclass(frozen=True, slots=True)
class Field:
    """A dataset's column; its type is left out if it is unknown."""

    name: str
    type: str | None = None
    origin: ColumnOrigin | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table or a topic."""

    at: Located
    fields: Sequence[Field] = ()

    def document(self) -> Json:
        """Return it with its facets; the columns' positions are their order."""
        facets: Json = {}
        if self.fields:
            columns = [_column(place, field) for place, field in enumerate(self.fields, 1)]
            facets["schema"] = _facet("1-2-0/SchemaDatasetFacet", fields=columns)
        came = {field.name: field.origin for field in self.fields if field.origin is not None}
        if came:
            lines = {name: {"inputFields": [origin.document()]} for name, origin in came.items()}
            facets["columnLineage"] = _facet("1-2-0/ColumnLineageDatasetFacet", fields=lines)
        return {**self.at._asdict(), "facets": facets}


@dataclass(frozen=True, slots=True)
class LineageFlow:
    """What is read, and what is made of it."""

    source: Dataset
    result: Dataset


@dataclass(frozen=True, slots=True)
class LineageJob:
    """One half of a pipeline, in one of its runs."""

    namespace: str
    name: str
    run_id: str
    streams: bool = True

    def event(
        self,
        became: RunState,
        moment_ms: int,
        flows: Sequence[LineageFlow] = (),
        error: WracklineError | str | None = None,
    ) -> Json:
        """Return an event; an error that is not ours is named only by its type."""
        moment = datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="milliseconds")
        return {
            "eventType": became.value,
            "eventTime": moment,
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": self.run_id, "facets": _error_facet(error)},
            "job": {"namespace": self.namespace, "name": self.name, "facets": {"jobType": self._type()}},
            "inputs": [flow.source.document() for flow in flows],
            "outputs": [flow.result.document() for flow in flows],
        }

    def _type(self) -> Json:
        return _facet(
            "2-0-4/JobTypeJobFacet",
            processingType="STREAMING" if self.streams else "BATCH",
            integration="WRACKLINE",
            jobType="JOB",
            emissionPattern={"eventTrigger": "EVENT_BASED", "eventContentMode": "ACCUMULATIVE"},
        )


def _column(place: int, field: Field) -> Json:
    kind = {} if field.type is None else {"type": field.type}
    return {"name": field.name, **kind, "ordinal_position": place}


def _error_facet(error: WracklineError | str | None) -> Json:
    if error is None:
        return {}
    said = f"[{error.code}] {error.sentence}" if isinstance(error, WracklineError) else error
    facet = _facet("1-0-1/ErrorMessageRunFacet", message=said, programmingLanguage="Python")
    return {"errorMessage": facet}


def _facet(name: str, **content: object) -> Json:
    _, _, kind = name.partition("/")
    url = f"{_SPEC}/facets/{name}.json#/$defs/{kind}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}
