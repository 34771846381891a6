"""The corpus of records and schemas that no worker of ours writes: each ends in the error its case names."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from tests.unit.corpus.cases import Case, as_bytes, cases, tells_nothing
from wrackline.consumers.records.writer_schema import read_writer_schema
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.split_transaction import SplitTransaction
from wrackline.producers.reading import resume_state
from wrackline.producers.snapshot import table_state
from wrackline.producers.sources.mysql.log import position as mysql
from wrackline.producers.sources.mysql.resume import log_opening
from wrackline.producers.sources.postgres.log import position as postgres
from wrackline.producers.sources.postgres.log import slot_health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import offsets_records, receipts
from wrackline.schemas.tables.table import TableId

_KEY = b'["shop",{"database":"db","server":"srv"}]'
_TABLE_KEY = b'["shop",{"database":"db","server":"srv","table":["public","t"]}]'
_TABLE = TableId("db", "public", "t")
_PLACE = offsets_records.RecordPlace("group-offsets", 3, 41)

READ: Mapping[str, Callable[[bytes], object]] = {
    "offsets key": lambda data: offsets_records.parse(_PLACE, data, None),
    "offset": lambda data: offsets_records.parse(_PLACE, _KEY, data),
    "table's state": lambda data: offsets_records.parse(_PLACE, _TABLE_KEY, data),
    "begin": lambda data: offsets_records.parse(_PLACE, b'"task#begin"', data),
    "receipt": lambda data: receipts.decode(data, partition=0, offset=41),
    "snapshot's state": lambda data: table_state.parse_state(offsets_records.Json(data), _TABLE),
    "set aside": lambda data: table_fault.reason_in(offsets_records.Json(data), _TABLE),
    "cut transaction": lambda data: SplitTransaction.parse(offsets_records.Json(data)),
    "beside a position": lambda data: resume_state.naming_of(_with(data)),
    "postgres position": lambda data: postgres.position_of(_object(data), "slot"),
    "mysql position": lambda data: mysql.position_of(_object(data)),
    "postgres place": lambda data: slot_health.place(_object(data), "slot"),
    "mysql place": lambda data: log_opening.is_fresh(_object(data)) or mysql.position_of(_object(data)),
    "key schema": lambda data: read_writer_schema("srv.db.public.t", data.decode(), "{}"),
    "value schema": lambda data: read_writer_schema("srv.db.public.t", None, data.decode()),
}


def _with(data: bytes) -> offsets_records.Offset:
    return offsets_records.Offset(
        1, 1, offsets_records.canonical_json({}), None, 1, 1, offsets_records.Json(data)
    )


def _object(data: bytes) -> Any:
    return orjson.loads(data)


@pytest.mark.parametrize("case", cases("topics", "records"))
def test_what_no_worker_writes_is_refused(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(WracklineError) as refused:
        READ[case["read"]](as_bytes(case["data"]))
    assert refused.value.code == case["code"]
    assert refused.value.hint
    tells_nothing(str(refused.value), caplog.text)


def test_the_cases_are_those_promised() -> None:
    assert len(cases("topics", "records")) >= 220
