"""The corpus of bad configurations: which setting has which fault, by a file's check and by REST's alike."""

import os
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.corpus.cases import Case, cases, made, tells_nothing
from wrackline.control.runtime.check.file_check import check_file
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

GOOD = {
    "name": "shop",
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "db.internal",
    "database.user": "wrackline",
    "database.password": "c4n4ry-database",
    "database.dbname": "shop",
    "kafka.bootstrap.servers": "broker1:9092",
    "schema.registry.url": "http://registry:8081",
    "schema.registry.basic.auth.user.info": "us:c4n4ry-registry",
    "snapshot.mode": "no_data",
}
ENVIRON = {"WRACKLINE_PW": "c4n4ry-allowed", "HOME": "c4n4ry-home", "SHOP_KEY": "c4n4ry-shop"}
STOP_NOTHING = {"settings.not_honoured", "settings.not_yet"}
GROUPS = ("values", "names", "secrets", "together")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "db.properties").write_text("password=c4n4ry-file\n")
    (inside / "bytes").write_bytes(b"password=c4n4ry\xff")
    (inside / "out").symlink_to("/etc/hostname")
    (tmp_path / "outside").write_text("password=c4n4ry-outside")
    return inside


def settings_of(case: Case, folder: Path) -> dict[str, str]:
    """Spoil the good settings as a case says; null takes one out, <folder> is a folder that may be read."""
    given = {**GOOD, **{made(name): made(value) for name, value in case["settings"].items()}}
    more = {name: given[name] for name in given if given[name] is not None}
    return {name: value.replace("<folder>", str(folder)) for name, value in more.items()}


def by_name(found: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    named: dict[str, list[str]] = defaultdict(list)
    for name, code in found:
        named[name].append(code)
    return {name: sorted(codes) for name, codes in named.items()}


def expected(case: Case) -> Mapping[str, list[str]]:
    return {shown_name(made(name)): sorted(codes.split()) for name, codes in case["faults"]}


@pytest.mark.parametrize("case", cases("configuration", *GROUPS))
def test_each_fault_is_named_with_its_setting_and_nothing_is_shown(
    case: Case, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A-SECRET-09."""
    given = settings_of(case, folder)
    resolve = Resolver(Allowed(folders=(folder,)).of_the_owner(), ENVIRON)
    before = files(folder)
    found = check(given, Installed(), resolve)
    assert by_name((shown_name(p.setting), p.error.code) for p in found.problems) == expected(case)
    stops = {code for _, codes in case["faults"] for code in codes.split()} - STOP_NOTHING
    assert (found.values is None) == bool(stops)
    tells_nothing(repr(found.values), caplog.text, *(str(problem.error) for problem in found.problems))
    told = orjson.dumps(found.registry.described("postgres", given, found.problems)).decode()
    shown = orjson.dumps(found.registry.shown(given)).decode()
    tells_nothing(told, shown)
    assert files(folder) == before


@pytest.mark.parametrize("case", cases("configuration", *GROUPS))
def test_a_file_with_the_same_settings_has_the_same_faults(case: Case, folder: Path) -> None:
    given = settings_of(case, folder)
    file = folder.parent / "pipeline.toml"
    lines = [f"{quoted(name)} = {quoted(value)}\n" for name, value in given.items()]
    file.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    assert tomllib.loads(file.read_text(encoding="utf-8")) == given
    environ = {**ENVIRON, "WRACKLINE_SECRETS_ALLOW": f"dir:{folder}"}
    found = check_file(file, Installed(), environ)
    assert by_name((one.name, one.id) for one in found.findings) == expected(case)
    tells_nothing(repr(found.findings))


@pytest.mark.parametrize("case", cases("configuration", "files"))
def test_a_file_that_is_not_a_pipeline_file_is_reported_and_never_shown(
    case: Case, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = folder / "pipeline.toml"
    content = made(case["file"])
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = files(folder), dict(os.environ)
    found = check_file(file, Installed(), ENVIRON)
    errors = by_name((one.name, one.id) for one in found.findings if one.severity.value == "ERROR")
    wanted = expected(case)
    assert {name: errors.get(name) for name in wanted} == wanted
    assert found.stops
    assert found.pipeline is None or found.pipeline.values is None
    tells_nothing(repr(found), caplog.text)
    assert (files(folder), dict(os.environ)) == before


def quoted(text: str) -> str:
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def files(folder: Path) -> Mapping[str, Any]:
    return {str(one): one.read_bytes() if one.is_file() else None for one in folder.parent.rglob("*")}


def test_the_cases_are_those_promised() -> None:
    assert len(cases("configuration", *GROUPS, "files")) >= 110
