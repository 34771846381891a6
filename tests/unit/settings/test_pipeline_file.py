"""A pipeline's file is read whole or not at all, and says where it is wrong."""

from pathlib import Path

import pytest

from tests.unit.settings.shop import CANARY, GOOD, codes
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import LARGEST_FILE, load, parse, read_file

SHOP = f"""
name = "shop"
topic.prefix = "shop1"
snapshot.mode = "no_data"

[source]
connector.class = "postgres"
database.hostname = "db.internal"
database.user = "wrackline"
"database.password" = "{CANARY}"
database.dbname = "shop"

[kafka]
bootstrap.servers = ["broker1:9092", "broker2:9092"]

[schema.registry]
url = "http://registry:8081"
"""


def test_tables_are_joined_by_dots() -> None:
    given, problems = parse(SHOP, "shop.toml")
    assert not problems
    assert given == {**GOOD, "kafka.bootstrap.servers": "broker1:9092,broker2:9092"}


def test_values_become_the_texts_that_rest_takes() -> None:
    text = 'a = true\nb = -5\nc = 0.5\nd = ["x", 1, "y,z"]\ne = []\nf = "\\u00e9"\ng = 0x10'
    given, _ = parse(text, "p.toml")
    assert given == {"a": "true", "b": "-5", "c": "0.5", "d": "x,1,y\\,z", "e": "", "f": "\u00e9", "g": "16"}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("name = ", 1, 8),
        ("name = shop", 1, 8),
        ('name = "shop', 1, 13),
        ('\n\n name "shop"', 3, 7),
        ("[source\n", 1, 8),
        ("[source]\n[source]", 2, 8),
        ("name = 1\nname = 2", 2, 9),
        ("topic = 1\ntopic.prefix = 2", 2, 17),
        ('name = "a\nb"', 1, 10),
        ('list = "\\d+"', 1, 11),
        ("a = {b = 1, b = 2}", 1, 18),
        ("= 1", 1, 1),
        ("\0", 1, 1),
    ],
)
def test_a_syntax_error_says_where(text: str, line: int, column: int) -> None:
    with pytest.raises(WracklineError) as caught:
        parse(text, "p.toml")
    assert caught.value.code == "pipeline.syntax"
    assert f"line {line}, column {column}" in caught.value.sentence
    assert caught.value.hint.endswith("wrackline check p.toml")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name = 2026-01-01", [("name", "pipeline.wrong_type")]),
        ("name = 10:00:00", [("name", "pipeline.wrong_type")]),
        ("name = [[1]]", [("name", "pipeline.wrong_type")]),
        ("name = [{a = 1}]", [("name", "pipeline.wrong_type")]),
        ("[[source]]\na = 1", [("source", "pipeline.wrong_type")]),
        ('topic.prefix = "a"\n[source]\ntopic.prefix = "b"', [("topic.prefix", "pipeline.duplicate")]),
        ('a."b.c" = 1\n"a.b".c = 2', [("a.b.c", "pipeline.duplicate")]),
    ],
)
def test_what_no_setting_can_be_is_named(text: str, found: list[tuple[str, str]]) -> None:
    _, problems = parse(text, "p.toml")
    assert [(problem.setting, problem.error.code) for problem in problems] == found


def test_a_file_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("\ufeff" + SHOP.replace("\n", "\r\n"), encoding="utf-8")
    found = load(file, Installed(), {})
    assert found.source == "postgres"
    assert found.target is None
    assert found.values is not None
    assert CANARY not in repr(found)


def test_a_file_may_widen_what_its_own_references_reach(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("from-file")
    file = tmp_path / "shop.toml"
    reference = f"${{dir:{tmp_path}:pw}}"
    file.write_text(SHOP.replace(CANARY, reference) + f'\n[secrets]\nallow.folders = ["{tmp_path}"]')
    found = load(file, Installed(), {})
    assert found.values is not None
    assert found.values.secret("database.password").reveal() == "from-file"


def test_a_fault_of_the_map_leaves_no_values(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHOP.replace('"shop1"', "2026-01-01") + '\n[target]\nkind = "icebrg"')
    found = load(file, Installed(), {})
    assert found.values is None
    assert codes(found) == [
        ("topic.prefix", "pipeline.wrong_type"),
        ("target.kind", "pipeline.unknown_kind"),
    ]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    (tmp_path / "huge.toml").write_bytes(b"#" * (LARGEST_FILE + 1))
    for name, why in (
        ("none.toml", "No such file"),
        (".", "not a file"),
        ("bytes.toml", "not UTF-8"),
        ("huge.toml", "larger than"),
        ("x" * 300, "too long"),
        ("nul\0.toml", "can't be read"),
    ):
        with pytest.raises(WracklineError, match=why) as caught:
            read_file(tmp_path / name)
        assert caught.value.code == "pipeline.file"
