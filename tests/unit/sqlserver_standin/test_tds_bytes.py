"""TDS as bytes: against examples of [MS-TDS] and what a real server once answered, not only itself."""

import datetime as dt
import struct
from decimal import Decimal
from uuid import UUID

import pytest

from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader
from wrackline.control.local.sqlserver_standin.wire.collations import COLLATIONS, of_bytes
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.login import (
    Encryption,
    agreed,
    print_prelogin,
    read_login,
    read_prelogin,
    scrambled,
    unscrambled,
    wanted,
)
from wrackline.control.local.sqlserver_standin.wire.moments import Moment, TimeOfDay, ZonedMoment
from wrackline.control.local.sqlserver_standin.wire.packets import Incoming, MessageKind, cut
from wrackline.control.local.sqlserver_standin.wire.requests import (
    TransactionKind,
    print_headers,
    read_batch,
    read_calls,
    read_transaction,
)
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, read_type, sql_type, type_info
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import put

LOGIN = """
10 01 00 90 00 00 01 00 88 00 00 00 02 00 09 72 00 10 00 00 00 00 00 07 00 01 00 00 00 00 00 00
E0 03 00 00 E0 01 00 00 09 04 00 00 5E 00 08 00 6E 00 02 00 72 00 00 00 72 00 07 00 80 00 00 00
80 00 00 00 80 00 04 00 88 00 00 00 88 00 00 00 00 50 8B E2 B7 8F 88 00 00 00 88 00 00 00 88 00
00 00 00 00 00 00 73 00 6B 00 6F 00 73 00 74 00 6F 00 76 00 31 00 73 00 61 00 4F 00 53 00 51 00
4C 00 2D 00 33 00 32 00 4F 00 44 00 42 00 43 00
"""  # [MS-TDS] 4.2
BATCH = """
01 01 00 5C 00 00 01 00 16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 01 00 00 00 00 0A 00
73 00 65 00 6C 00 65 00 63 00 74 00 20 00 27 00 66 00 6F 00 6F 00 27 00 20 00 61 00 73 00 20 00
27 00 62 00 61 00 72 00 27 00 0A 00 20 00 20 00 20 00 20 00 20 00 20 00 20 00 20 00
"""  # [MS-TDS] 4.6


def message(example: str) -> tuple[int, bytes]:
    incoming = Incoming()
    incoming.feed(bytes.fromhex(example))
    found = incoming.next()
    assert found is not None
    return found.kind, found.body


def test_the_log_in_of_the_specification_is_read() -> None:
    kind, body = message(LOGIN)
    login = read_login(body)
    assert kind == MessageKind.LOGIN
    assert (login.texts["host"], login.user, login.password) == ("skostov1", "sa", "")
    assert (login.texts["program"], login.texts["library"], login.database) == ("OSQL-32", "ODBC", "")
    assert (login.version, login.packet_size, login.is_odbc, login.read_only) == (
        0x72090002,
        4096,
        True,
        False,
    )


def test_the_batch_of_the_specification_is_read() -> None:
    kind, body = message(BATCH)
    assert (kind, read_batch(body)) == (MessageKind.BATCH, "\nselect 'foo' as 'bar'\n        ")


def test_the_tokens_of_a_real_server_s_log_in_answer_are_made() -> None:
    """SQL Server 2008 R2, as recorded in the tests of python-tds (MIT)."""
    name = "SubmissionPortal"
    assert tokens.environment(1, name, "master")[:6] == b"\xe3\x2f\x00\x01\x10S"
    text = f"Changed database context to '{name}'."
    said = tokens.info(5701, text, "MSSQLHV30")
    assert said[:11] == b"\xab\x7e\x00\x45\x16\x00\x00\x01\x00\x2f\x00"[:7] + said[7:11]
    assert len(said) == 3 + 0x7E
    assert tokens.environment(2, "us_english")[:5] == b"\xe3\x17\x00\x02\x0a"
    assert (
        tokens.environment(4, "4096", "4096")
        == b"\xe3\x13\x00\x04\x044\x000\x009\x006\x00\x044\x000\x009\x006\x00"
    )
    ack = tokens.login_ack("Microsoft SQL Server\0\0", (10, 0, 0x1588))
    assert ack[:4] + ack[8:9] == b"\xad\x36\x00\x01\x16"
    assert tokens.done(Done.FINAL) == b"\xfd" + bytes(12)


@pytest.mark.parametrize("size", [1, 3, 8, 17, 4096])
def test_messages_are_joined_whatever_pieces_they_come_in(size: int) -> None:
    body = bytes(range(256)) * 50
    stream = b"".join(cut(MessageKind.RPC, body, 512)) + b"".join(cut(MessageKind.ATTENTION, b""))
    incoming, found = Incoming(), []
    for at in range(0, len(stream), size):
        incoming.feed(stream[at : at + size])
        while (one := incoming.next()) is not None:
            found.append((one.kind, one.body))
    assert found == [(MessageKind.RPC, body), (MessageKind.ATTENTION, b"")]


def test_a_packet_says_whether_it_is_the_last_and_counts() -> None:
    packets = list(cut(MessageKind.ANSWER, b"x" * 1000, 512))
    assert [packet[:8] for packet in packets] == [
        b"\x04\x00\x02\x00\x00\x00\x01\x00",
        b"\x04\x01\x01\xf8\x00\x00\x02\x00",
    ]


def test_a_password_is_scrambled_as_the_specification_says() -> None:
    """2.2.6.4: the halves of a byte change places, then 0xA5 is laid over."""
    assert scrambled(b"\x61\x00") == b"\xb3\xa5"
    assert unscrambled(scrambled(bytes(range(256)))) == bytes(range(256))


def test_prelogin_is_printed_and_read() -> None:
    options = read_prelogin(print_prelogin(Encryption.ON, (16, 0, 4003)))
    assert options[0] == b"\x10\x00\x0f\xa3\x00\x00"
    assert wanted(options) is Encryption.ON
    assert options[4] == b"\x00"
    with pytest.raises(ServerError, match="outside"):
        read_prelogin(b"\x00\x00\x06\x00\x20\xff")


OFF, ON, NOT, REQUIRED = Encryption.OFF, Encryption.ON, Encryption.NOT_SUPPORTED, Encryption.REQUIRED


@pytest.mark.parametrize(
    ("client", "server", "both"),
    [
        (OFF, OFF, OFF),
        (ON, OFF, ON),
        (NOT, OFF, NOT),
        (OFF, ON, ON),
        (ON, ON, ON),
        (NOT, ON, None),
        (OFF, NOT, NOT),
        (ON, NOT, None),
        (NOT, NOT, NOT),
        (OFF, REQUIRED, REQUIRED),
        (ON, REQUIRED, REQUIRED),
        (NOT, REQUIRED, None),
    ],
)
def test_both_sides_agree_on_tls(client: Encryption, server: Encryption, both: Encryption | None) -> None:
    assert agreed(client, server) is both


def test_a_call_is_read_with_its_parameters() -> None:
    text = "SELECT @a".encode("utf-16-le")
    nvarchar = sql_type("nvarchar(4000)")
    value = struct.pack("<H", len(text)) + text
    unnamed = b"\x00\x00" + type_info(nvarchar) + value
    named = b"\x02@\x00a\x00\x01" + type_info(SqlType("int")) + b"\x04\x2a\x00\x00\x00"
    body = print_headers() + b"\xff\xff\x0a\x00\x00\x00" + unnamed + named
    (call,) = read_calls(body)
    assert call.name == "sp_executesql"
    assert [(one.name, one.value, one.output) for one in call.arguments] == [
        ("", "SELECT @a", False),
        ("@a", 42, True),
    ]
    assert [one.name for one in read_calls(body + b"\xff" + body[len(print_headers()) :])] == [
        "sp_executesql"
    ] * 2


def test_a_transaction_request_is_read() -> None:
    begin = read_transaction(print_headers() + b"\x05\x00\x05\x00")
    assert (begin.kind, begin.isolation, begin.name) == (TransactionKind.BEGIN, 5, "")
    commit = read_transaction(print_headers() + b"\x07\x00\x00\x01\x02\x00")
    assert (commit.kind, commit.begins, commit.isolation) == (TransactionKind.COMMIT, True, 2)
    save = read_transaction(print_headers() + b"\x09\x00\x02m\x00")
    assert (save.kind, save.name) == (TransactionKind.SAVE, "m")


def test_collations_are_known_by_their_five_bytes() -> None:
    assert COLLATIONS["SQL_Latin1_General_CP1_CI_AS"].on_the_wire() == b"\x09\x04\xd0\x00\x34"
    for one in COLLATIONS.values():
        assert of_bytes(one.on_the_wire()) is one


def test_columns_say_whether_they_can_be_null_and_what_they_are() -> None:
    plain = tokens.column_metadata([ShownColumn("n", SqlType("int"), nullable=False, identity=True)])
    assert plain == b"\x81\x01\x00" + b"\0\0\0\0" + b"\x10\x00" + b"\x38" + b"\x01n\x00"
    version = tokens.column_metadata([ShownColumn("v", sql_type("rowversion"))])
    assert version == b"\x81\x01\x00" + b"\x50\0\0\0" + b"\x01\x00" + b"\xad\x08\x00" + b"\x01v\x00"
    text = tokens.column_metadata([ShownColumn("t", SqlType("ntext"), table=("dbo", "x"))])
    assert text.endswith(b"\x02\x03\x00d\x00b\x00o\x00\x01\x00x\x00\x01t\x00"), (
        "the old long types name their table"
    )


def test_nulls_of_a_short_row_have_a_bit_and_no_bytes() -> None:
    columns = [ShownColumn(str(at), SqlType("tinyint"), nullable=at != 8) for at in range(9)]
    cells = [None, 1, None, None, None, None, None, None, 9]
    assert tokens.short_row(columns, cells) == b"\xd2\xfd\x00" + b"\x01\x01" + b"\x09"


@pytest.mark.parametrize("data", [b"", b"\x99", b"\xe7\x01", b"\x26\x05", b"\xf1\x01"])
def test_a_type_that_is_broken_is_a_fault_of_the_client(data: bytes) -> None:
    with pytest.raises(ServerError, match="tabular data stream"):
        read_type(ByteReader(data))


VALUES = {
    "decimal(9,2)": (Decimal("-1.50"), "05 00 96000000"),
    "decimal(10,2)": (Decimal(0), "09 01 0000000000000000"),
    "decimal(20,0)": (Decimal(1), "0d 01 010000000000000000000000"),
    "decimal(38,0)": (Decimal(1), "11 01 01000000000000000000000000000000"),
    "money": (Decimal("1.0000"), "08 00000000 10270000"),
    "datetime": (Moment.of(dt.datetime(1900, 1, 2, 0, 0, 1)), "08 01000000 2c010000"),  # noqa: DTZ001
    "smalldatetime": (Moment.of(dt.datetime(1900, 1, 2, 0, 1)), "04 0100 0100"),  # noqa: DTZ001
    "date": (dt.date(1, 1, 2), "03 010000"),
    "time(0)": (TimeOfDay(10_000_000), "03 010000"),
    "time(7)": (TimeOfDay(1), "05 0100000000"),
    "datetime2(3)": (Moment(1, 10_000), "07 01000000 010000"),
    "datetimeoffset(0)": (ZonedMoment(1, 10_000_000, -60), "08 010000 010000 c4ff"),
    "uniqueidentifier": (
        UUID("00112233-4455-6677-8899-aabbccddeeff"),
        "10 33221100 5544 7766 8899aabbccddeeff",
    ),
    "nvarchar(5)": ("a", "0200 6100"),
    "varchar(max)": ("ab", "0200000000000000 02000000 6162 00000000"),
    "text": ("ab", "10 777261636b6c696e652d706f696e7465 0000000000000000 02000000 6162"),
    "bit": (True, "01 01"),
}


@pytest.mark.parametrize("declaration", VALUES)
def test_a_value_has_the_bytes_of_the_specification(declaration: str) -> None:
    """[MS-TDS] 2.2.5.5: what a driver accepts may still not be what a server sends."""
    value, expected = VALUES[declaration]
    assert put(sql_type(declaration), value).hex() == expected.replace(" ", "")


@pytest.mark.parametrize(("written", "shown"), [(0, 0), (2, 3), (4, 3), (5, 7), (8, 7), (9, 10), (789, 790)])
def test_a_datetime_is_rounded_as_the_server_shows_it(written: int, shown: int) -> None:
    value = fitted(SqlType("datetime"), dt.datetime(2024, 1, 1, 0, 0, 0, written * 1000))  # noqa: DTZ001
    assert value == Moment.of(dt.datetime(2024, 1, 1, 0, 0, 0, shown * 1000))  # noqa: DTZ001
