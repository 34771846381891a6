"""Chunks along keys of every type and several collations meet every row once, in the server's own order."""

import random
from collections.abc import Sequence
from contextlib import closing
from threading import Event

import pytest

from tests.integration.mysql.rows_world import World, beside, rows_of, table, walked
from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.schemas.errors import OperatorNeeded

pytestmark = pytest.mark.servers

TEXTS = ("a", "A b", "b", "", "é", "e", "z", "Zz", "it's", "\\", "%", "ß", "ss ", "10", "9", "a\tb")
WIDE = (*TEXTS, "😀", "漢字", "한", "ﬀ", "\u0130", "\ufffd")
BYTES = ("x''", "x'00'", "x'0000'", "x'ff'", "x'27'", "x'5c'", "x'30783030'", "x'c3a9'")
MOMENTS = (
    "0000-00-00 00:00:00",
    "2026-00-00 00:00:00",
    "1000-01-01 00:00:00",
    "2026-10-25 02:30:00.000001",
    "2026-10-25 02:30:00.000002",
    "9999-12-31 23:59:59.999999",
)
KEYS: dict[str, Sequence[str]] = {
    "tinyint": ("-128", "-1", "0", "127"),
    "tinyint unsigned": ("0", "128", "255"),
    "smallint": ("-32768", "0", "32767"),
    "mediumint": ("-8388608", "-1", "0", "8388607"),
    "mediumint unsigned": ("0", "8388608", "16777215"),
    "int unsigned zerofill": ("0", "7", "4294967295"),
    "bigint": ("-9223372036854775808", "-1", "0", "9223372036854775807"),
    "bigint unsigned": ("0", "9223372036854775807", "9223372036854775808", "18446744073709551615"),
    "float": ("-3.4028234e38", "-0.1", "0", "1.1754944e-38", "0.1", "0.3", "16777217", "3.4028234e38"),
    "double": (
        "-1.7976931348623157e308",
        "-0.1",
        "0",
        "2.2250738585072014e-308",
        "0.1",
        "0.30000000000000004",
    ),
    "decimal(65,30)": (
        "-1.000000000000000000000000000001",
        "0",
        "1.000000000000000000000000000001",
        f"{'9' * 35}",
    ),
    "bit(64)": ("0", "1", "127", "128", "9223372036854775808", "18446744073709551615"),
    "bit(1)": ("0", "1"),
    "year": ("0", "1901", "1999", "2000", "2155"),
    "date": (*(f"'{moment[:10]}'" for moment in MOMENTS[:3]), "'2026-10-25'", "'9999-12-31'"),
    "datetime(6)": tuple(f"'{moment}'" for moment in MOMENTS),
    "datetime": tuple(f"'{moment[:19]}'" for moment in (*MOMENTS[:4], MOMENTS[5])),
    "timestamp(6)": ("'1970-01-01 00:00:01'", "'2026-10-25 02:30:00.000001'", "'2038-01-19 03:14:07.999999'"),
    "time(6)": ("'-838:59:59'", "'-00:00:00.000001'", "'00:00:00'", "'12:34:56.789'", "'838:59:59'"),
    "enum('z','a','10','m')": ("'z'", "'a'", "'10'", "'m'"),
    "set('z','a','m')": ("''", "'z'", "'a'", "'z,a'", "'m'", "'z,m'", "'z,a,m'"),
    "binary(3)": BYTES[:6],
    "varbinary(20)": BYTES,
    "char(20) character set utf8mb4 collate utf8mb4_general_ci": WIDE,
    "varchar(20) character set utf8mb4 collate utf8mb4_bin": WIDE,
    "varchar(20) character set utf8mb4 collate utf8mb4_unicode_520_ci": WIDE,
    "varchar(20) character set utf8mb3 collate utf8mb3_german2_ci": (*TEXTS, "漢字"),
    "varchar(20) character set latin1 collate latin1_swedish_ci": TEXTS,
    "varchar(20) character set latin1 collate latin1_german2_ci": TEXTS,
    "varchar(20) character set ascii": tuple(text for text in TEXTS if text.isascii()),
    "varchar(20) character set utf16": WIDE,
    "varchar(20) character set ucs2": (*TEXTS, "漢字"),
    "varchar(20) character set cp1251": ("\u0430", "\u0431", "Я", "ю", "a", ""),
    "varchar(20) character set sjis": ("ア", "漢", "a", "", "ｱ"),
    "varchar(20) character set gbk": ("中", "文", "a", ""),
}
ONE_SERVER: dict[str, tuple[str, Sequence[str]]] = {
    "uuid": (
        "mariadb",
        ("'00000000-0000-1000-8000-000000000001'", "'ffffffff-ffff-1fff-9fff-ffffffffffff'", "UUID()"),
    ),
    "inet6": ("mariadb", ("'::'", "'::1'", "'ffff::'", "'::ffff:10.0.0.1'")),
    "inet4": ("mariadb", ("'0.0.0.0'", "'9.0.0.1'", "'10.0.0.1'", "'255.255.255.255'")),
    "varchar(20) character set utf8mb4 collate utf8mb4_uca1400_ai_ci": ("mariadb", WIDE),
    "varchar(20) character set utf8mb4 collate utf8mb4_nopad_bin": ("mariadb", (*WIDE, "a ", "a  ")),
    "varchar(20) character set utf8mb4 collate utf8mb4_0900_ai_ci": ("mysql", (*WIDE, "a ", "a  ")),
    "varchar(20) character set utf8mb4 collate utf8mb4_ja_0900_as_cs_ks": ("mysql", WIDE),
}
NEAR = {  # in the gate, another key that is stored and compared in the same way stands for it
    *("tinyint", "smallint", "mediumint", "mediumint unsigned", "int unsigned zerofill", "float", "bit(1)"),
    *("datetime", "binary(3)", "inet6", "inet4"),
    "varchar(20) character set utf8mb4 collate utf8mb4_bin",
    "varchar(20) character set utf8mb3 collate utf8mb3_german2_ci",
    "varchar(20) character set latin1 collate latin1_swedish_ci",
    "varchar(20) character set ascii",
    "varchar(20) character set ucs2",
    "varchar(20) character set gbk",
    "varchar(20) character set utf8mb4 collate utf8mb4_ja_0900_as_cs_ks",
}
EVERY = [
    pytest.param(kind, marks=pytest.mark.full) if kind in NEAR else kind for kind in (*KEYS, *ONE_SERVER)
]


@pytest.mark.parametrize("kind", EVERY)
def test_chunks_of_every_key_meet_each_row_once_in_order(world: World, kind: str) -> None:
    """T-W03."""
    flavour, values = ONE_SERVER.get(kind, ("", KEYS.get(kind, ())))
    if flavour and (flavour == "mariadb") != world.mariadb:
        pytest.skip(f"{flavour} alone has it")
    _make(world, kind, values)
    with closing(world.reader()) as reader:
        for key in (("k",), ("k", "id"), ("id", "k")):
            wanted = _ordered(world, key)
            assert len(wanted) > len(values) // 2, "the test's own values are refused"
            for size in (1, 3):
                request = ChunkRequest(table("t"), key, upto=reader.last_key(ChunkRequest(table("t"), key)))
                found = walked(reader, ChunkRequest(table("t"), key, upto=request.upto, most_rows=size))
                assert found == wanted, f"{key} by {size}"


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.full
def test_a_row_is_found_by_its_bound(world: World, kind: str) -> None:
    flavour, values = ONE_SERVER.get(kind, ("", KEYS.get(kind, ())))
    if flavour and (flavour == "mariadb") != world.mariadb:
        pytest.skip(f"{flavour} alone has it")
    _make(world, kind, values)
    with closing(world.reader()) as reader:
        whole = reader.read(ChunkRequest(table("t"), ("k",), slice_rows=1))
        for part in whole.slices:
            one = reader.read(ChunkRequest(table("t"), ("k",), only=(part.upto,)))
            assert rows_of(one) == [row for _, row in part.rows], part.upto


def test_rows_that_stay_are_read_once_while_others_come_and_go(world: World) -> None:
    world.run(
        "CREATE TABLE shop.t (a enum('z','y','x'), b varchar(20), id int, PRIMARY KEY (a, b, id))",
        "INSERT INTO shop.t SELECT elt(1 + s.n % 3, 'z', 'y', 'x'), concat('K', s.n % 7), s.n FROM"
        " (WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 2 FROM n WHERE n < 900) SELECT n FROM n) s",
    )
    stay = _ordered(world, ("a", "b", "id"))

    def come_and_go(stop: Event) -> None:
        chance = random.Random(1)
        with world.root() as connection, connection.cursor() as cursor:
            while not stop.is_set():
                odd = 2 * chance.randrange(450) + 1
                place = ["zyx"[chance.randrange(3)], f"k{chance.randrange(9)}", odd]
                cursor.execute("INSERT IGNORE INTO t VALUES (%s, %s, %s)", place)
                cursor.execute("DELETE FROM t WHERE id %% 2 = 1 ORDER BY rand() LIMIT 1", ())

    with closing(world.reader()) as reader, beside(come_and_go):
        for size in (7, 100):
            found = walked(reader, ChunkRequest(table("t"), ("a", "b", "id"), most_rows=size))
            assert [row for row in found if row in set(stay)] == stay


def test_nulls_of_a_chosen_key_come_first_and_once(world: World) -> None:
    """T-W02."""
    world.run(
        "CREATE TABLE shop.t (id int PRIMARY KEY, a int, b varchar(9), KEY (a, b))",
        "INSERT INTO shop.t VALUES (1, null, null), (2, null, 'b'), (3, 1, null), (4, 1, 'a'), (5, 2, null)",
    )
    with closing(world.reader()) as reader:
        key = ("a", "b")
        assert walked(reader, ChunkRequest(table("t"), key, most_rows=1)) == _ordered(world, key)
        upto: Bound = ("1", None)
        found = walked(reader, ChunkRequest(table("t"), key, upto=upto, most_rows=2))
        assert found == _ordered(world, key)[:3]


@pytest.mark.parametrize("bound", [("x", "1"), ("1",), ("1", "2026-01-01'--"), ("0x1", "1"), ("1", "9e9")])
def test_a_key_that_does_not_fit_is_refused(world: World, bound: Bound) -> None:
    world.run("CREATE TABLE shop.t (a int, b date, PRIMARY KEY (a, b))")
    with closing(world.reader()) as reader, pytest.raises(OperatorNeeded) as caught:
        reader.read(ChunkRequest(table("t"), ("a", "b"), only=(bound,)))
    assert caught.value.code == "mysql.key_unfit"


def test_a_label_that_says_nothing_orders_nothing(world: World) -> None:
    world.run("CREATE TABLE shop.t (k enum('a','') PRIMARY KEY)")
    with closing(world.reader()) as reader, pytest.raises(OperatorNeeded) as caught:
        reader.read(ChunkRequest(table("t"), ("k",)))
    assert caught.value.code == "mysql.key_empty_label"


def _make(world: World, kind: str, values: Sequence[str]) -> None:
    with world.root(sql_mode="") as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(
            f"CREATE TABLE t (id int AUTO_INCREMENT, k {kind} NOT NULL, PRIMARY KEY (k), KEY (id, k))"
        )
        for value in values:
            text = value if "char" not in kind else str(connection.escape(value))
            cursor.execute(f"INSERT IGNORE INTO t (k) VALUES ({text})")


def _ordered(world: World, key: Sequence[str]) -> list[bytes]:
    """All rows in the server's own order, by one statement."""
    return world.selected(f"SELECT * FROM shop.t ORDER BY {', '.join(key)}")
