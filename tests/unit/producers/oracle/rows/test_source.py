"""Where an event comes from, and the texts of a signal."""

from io import BytesIO

import fastavro
import pytest

from wrackline.producers.sources.oracle.redo.kinds import UnknownRedoError
from wrackline.producers.sources.oracle.rows.signal_row import signal_texts
from wrackline.producers.sources.oracle.rows.source_record import (
    FIELDS,
    OracleSourceLabels,
    row_spot,
    source_record,
    streamed_record,
)
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.table import TableId

TABLE = TableId("DB", "SHOP", "ORDERS")
LABELS = OracleSourceLabels("1.0", "shop")
COMMON = [
    {"name": name, "type": kind}
    for name, kind in {
        "version": "string",
        "connector": "string",
        "name": "string",
        "ts_ms": "long",
        "snapshot": ["string", "null"],
        "db": "string",
        "sequence": ["null", "string"],
        "ts_us": ["null", "long"],
        "ts_ns": ["null", "long"],
        "schema": "string",
        "table": "string",
    }.items()
]


def read(raw: bytes) -> dict[str, object]:
    schema = fastavro.parse_schema({"type": "record", "name": "source", "fields": [*COMMON, *FIELDS]})
    found = fastavro.schemaless_reader(BytesIO(raw), schema, None)
    assert isinstance(found, dict)
    return found


def streamed(scn: int, rs_id: str, thread: int, ssn: int, user: str = "APP") -> dict[str, object]:
    record = streamed_record(
        LABELS, TABLE, "05000A00B1010000", 4_294_967_300, user, ts_us=1_700_000_000_123_456
    )
    frame = Frame(record, b"seq")
    frame.spot, frame.row = row_spot(scn, rs_id, thread), ssn
    return read(frame.tail("c"))


def test_an_event_of_the_log_says_where_its_redo_is() -> None:
    found = streamed(4_294_967_299, "0x000013.00000ac3.0010", 2, 3)
    assert {
        name: found[name] for name in ("connector", "name", "ts_ms", "snapshot", "db", "schema", "table")
    } == {
        "connector": "oracle",
        "name": "shop",
        "ts_ms": 1_700_000_000_123,
        "snapshot": "false",
        "db": "DB",
        "schema": "SHOP",
        "table": "ORDERS",
    }
    assert {field["name"]: found[str(field["name"])] for field in FIELDS} == {
        "txId": "05000a00b1010000",
        "scn": "4294967299",
        "rs_id": "0x000013.00000ac3.0010",
        "redo_thread": 2,
        "ssn": 3,
        "commit_scn": "4294967300",
        "lcr_position": None,
        "user_name": "APP",
    }


def test_what_is_not_known_is_null_and_what_has_no_room_too() -> None:
    assert streamed(1, "0x1", 1, 0, "")["user_name"] is None
    longest = streamed(2**64 - 1, "x" * 32, 32_767, 2**31)
    assert (longest["scn"], longest["rs_id"], longest["ssn"]) == (str(2**64 - 1), None, 2**31)
    usual = streamed(2**64 - 1, "0x000013.00000ac3.0010", 8, 2**31)
    assert usual["rs_id"] == "0x000013.00000ac3.0010"


def test_a_row_of_a_read_has_the_scn_of_the_read() -> None:
    found = read(source_record(LABELS, TABLE, 77, ts_ms=5, snapshot="incremental"))
    assert (found["scn"], found["snapshot"], found["ts_us"]) == ("77", "incremental", 5000)
    names = [str(field["name"]) for field in FIELDS if field["name"] != "scn"]
    assert [found[name] for name in names] == [None] * len(names)


@pytest.mark.parametrize(
    ("columns", "values", "texts"),
    [
        (
            '"ID","TYPE","DATA"',
            "'a','execute-snapshot','{\"x\": \"O''B\"}'",
            ("a", "execute-snapshot", '{"x": "O\'B"}'),
        ),
        ('"data","id","type"', "NULL,'a',UNISTR('\\0041')", ("a", "A", "")),
        ('"A","B","C","D"', "'1','2',EMPTY_CLOB(),'3'", ("1", "2", "")),
    ],
)
def test_a_signal_is_read(columns: str, values: str, texts: tuple[str, str, str]) -> None:
    assert signal_texts(f'insert into "S"."SIGNALS"({columns}) values ({values});'.encode()) == texts


@pytest.mark.parametrize(
    "redo",
    [
        """insert into "S"."SIGNALS"("ID","TYPE") values ('1','2');""",
        """insert into "S"."SIGNALS"("ID","TYPE","DATA") values ('1','2',Unsupported Type);""",
        """delete from "S"."SIGNALS" where "ID" = '1';""",
        """update "S"."SIGNALS" set "ID" = '1', "TYPE" = '2', "DATA" = '3' where "ID" = '0';""",
        "nonsense",
    ],
)
def test_what_is_no_signal_is_refused(redo: str) -> None:
    with pytest.raises(UnknownRedoError):
        signal_texts(redo.encode())
