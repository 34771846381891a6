"""`wrackline init`: a file that is good, holds no secret and no line that nobody answered."""

import json
import os
import pty
import re
import shlex
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from tests.fixtures.tiers import alternatives
from wrackline.control.cli import command_line
from wrackline.control.cli.init import answers
from wrackline.control.cli.init.init_command import prefix_of
from wrackline.control.runtime.check.file_check import check_file
from wrackline.control.runtime.files import file_writer, toml_text
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import check_server
from wrackline.schemas.pipelines.pipeline import Side
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import SettingsRegistry

CANARY = "c4n4ry-hunter2"
FLAGS = {
    "--source": "postgres",
    "--host": "db.internal",
    "--user": "reader",
    "--database": "shop",
    "--topic-prefix": "shop1",
    "--kafka": "broker:9092",
    "--registry": "http://registry:8081",
}
PASSWORD = {"WRACKLINE_DB_PASSWORD": CANARY}


def init(file: Path, *more: str, without: tuple[str, ...] = (), **flags: str) -> int:
    chosen = {**FLAGS, **{f"--{name.replace('_', '-')}": text for name, text in flags.items()}}
    arguments = [part for flag, text in chosen.items() if flag not in without for part in (flag, text)]
    with pytest.raises(SystemExit) as ended:
        command_line.main(["init", str(file), *arguments, *more])
    return int(ended.value.code or 0)


def help_of(flag: str) -> str:
    """What `--help` says of a flag of init."""
    command = getattr(get_command(command_line.app), "commands", {})["init"]
    return next(str(one.help) for one in command.params if flag in one.opts)


@pytest.mark.parametrize(("flag", "side"), [("--source", "source"), ("--target", "target")])
def test_help_lists_the_kinds(flag: str, side: Side) -> None:
    assert help_of(flag).endswith(f": {', '.join(Installed().kinds(side))}.")


@pytest.mark.parametrize(
    ("flag", "side", "name"),
    [
        ("--tls", "source", "database.sslmode"),
        ("--tls", "source", "database.ssl.mode"),
        ("--tls", "source", "driver.encrypt"),
        ("--target-tls", "target", "target.sslmode"),
    ],
)
def test_help_lists_the_modes_that_each_kind_recommends(flag: str, side: Side, name: str) -> None:
    declared = {kind: Installed().declared(side, kind).settings for kind in Installed().kinds(side)}
    modes = {
        kind: setting.recommended for kind in declared for setting in declared[kind] if setting.name == name
    }
    assert modes
    for recommended in set(modes.values()):
        kinds = ", ".join(kind for kind, its in modes.items() if its == recommended)
        said = f"{kinds}: {', '.join(recommended)}"
        assert re.search(rf"\bfor {re.escape(said)}[;.]", help_of(flag), re.IGNORECASE)


def settings(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text())


@pytest.mark.parametrize(
    "target",
    [
        [],
        ["--target", "iceberg", "--warehouse", "/data/lake"],
        ["--target", "delta", "--warehouse", "s3a://bucket/lake"],
        ["--target", "postgres", "--target-host", "copy", "--target-user", "w", "--target-database", "d"],
    ],
)
def test_what_it_writes_is_good_and_for_its_owner_alone(tmp_path: Path, target: list[str]) -> None:
    file = tmp_path / "shop.toml"
    tables = ["--tables", r"public\.(orders|items)", "--tables", "sales.*"]
    assert init(file, *tables, *target, password_env="WRACKLINE_DB_PASSWORD", port="6432") == Exit.OK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    checked = check_file(file, Installed(), PASSWORD)
    assert checked.findings == ()
    assert checked.pipeline is not None
    assert checked.pipeline.values is not None
    assert checked.pipeline.values.listed("table.include.list") == (r"public\.(orders|items)", "sales.*")
    assert checked.pipeline.values.integer("database.port") == 6432
    assert checked.pipeline.values.secret("database.password").reveal() == CANARY
    assert list(tmp_path.iterdir()) == [file]


def test_it_says_what_it_wrote_and_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path / "a b.toml", "--json", password_env="WRACKLINE_DB_PASSWORD") == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["database.password"] == "${env:WRACKLINE_DB_PASSWORD}"
    assert told["settings"]["name"] == "shop1"
    assert told["next"] == f"wrackline check '{tmp_path}/a b.toml'"
    assert "WRACKLINE_DB_PASSWORD" in told["not_yet"][0]


@pytest.mark.parametrize(
    "source",
    ["Postgres", "POSTGRES", "PostgresConnector", "io.debezium.connector.postgresql.PostgresConnector"],
)
def test_a_kind_may_be_named_as_its_question_says_and_in_any_case(tmp_path: Path, source: str) -> None:
    file = tmp_path / "shop.toml"
    assert init(file, "--target", "Iceberg", "--warehouse", "/data/lake", source=source) == Exit.OK
    written = settings(file)
    assert (written["source"]["connector"]["class"], written["target"]["kind"]) == ("postgres", "iceberg")
    assert check_file(file, Installed(), PASSWORD).findings == ()


def test_a_new_pipeline_keeps_tables_with_odd_names_apart_unless_the_operator_says_otherwise(
    tmp_path: Path,
) -> None:
    file = tmp_path / "shop.toml"
    lake = ["--target", "iceberg", "--warehouse", "/data/lake"]
    assert init(file, *lake) == Exit.OK
    assert settings(file)["topic"]["naming"] == "wrackline_unicode"
    assert init(file, "--force", *lake, "--set", "topic.naming=debezium") == Exit.OK
    assert settings(file)["topic"]["naming"] == "debezium"


def source_of(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(file.read_text())["source"]
    return found


def test_several_databases_are_named_by_the_same_flag_or_by_their_setting(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    databases = [(*text, f"--set=database.names={text[0]}") for text in (["shop,crm"], ["shop"])]
    for source, (text, set_) in [(one, each) for one in ("postgres", "sqlserver") for each in databases]:
        file.unlink(missing_ok=True)
        assert init(file, set_, source=source, without=("--database",)) == Exit.OK
        by_setting = source_of(file)["database"]["names"]
        file.unlink()
        assert init(file, source=source, database=text) == Exit.OK
        found = source_of(file)["database"]
        one = source == "postgres" and "," not in text
        assert found.get("names") == (None if one else by_setting)
        assert found.get("dbname") == (text if one else None)


def test_sql_server_s_protection_has_the_flag_of_the_others(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    assert init(file, source="sqlserver", tls="strict") == Exit.OK
    assert source_of(file)["driver"]["encrypt"] == "strict"


def test_oracle_s_database_and_protection_have_the_flags_of_the_others(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    named = ("--set", "database.pdb.name=SHOP1")
    assert init(file, *named, source="oracle", database="ORCLCDB", tls="verify_ca") == Exit.OK
    database = source_of(file)["database"]
    assert (database["dbname"], database["pdb"]["name"]) == ("ORCLCDB", "SHOP1")
    assert database["ssl"]["mode"] == "verify_ca"


def test_both_processes_can_be_asked_how_it_goes(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    lake = ["--target", "iceberg", "--warehouse", "/data/lake"]
    assert init(file, *lake) == Exit.OK
    assert (settings(file)["metrics"]["port"], settings(file)["consume"]["metrics"]["port"]) == (9401, 9402)
    said = " ".join(file.read_text().replace("\n#", " ").split())
    assert said.count("A second pipeline on the machine needs another") == 2
    assert init(file, "--force", *lake, "--set", "metrics.port=9501") == Exit.OK
    assert (settings(file)["metrics"]["port"], settings(file)["consume"]["metrics"]["port"]) == (9501, 9402)
    assert init(file, "--force") == Exit.OK
    assert "consume" not in settings(file), "without a target nobody consumes"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_without_a_terminal_it_names_every_flag_that_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    file = tmp_path / "shop.toml"
    missing = ("--host", "--kafka", "--topic-prefix")
    assert init(file, *more, "--target", "iceberg", without=missing) == Exit.USAGE
    said = capsys.readouterr()
    assert "--host, --topic-prefix, --kafka, --warehouse\n" in said.err
    assert not more or json.loads(said.out)["missing"] == [
        "--host",
        "--topic-prefix",
        "--kafka",
        "--warehouse",
    ]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"host": "postgres://reader:c4n4ry-hunter2@db/shop"}, "settings.invalid"),
        ({"host": "db\nname = 'other'"}, "settings.invalid"),
        ({"user": "reader:c4n4ry-hunter2"}, "settings.invalid"),
        ({"user": "postgres://reader:c4n4ry-hunter2@db"}, "settings.invalid"),
        ({"user": 'a"\nsource.database.hostname = "evil'}, "settings.invalid"),
        ({"user": "a\u2028b"}, "settings.invalid"),
        ({"user": "\udcff"}, "settings.invalid"),
        ({"user": " "}, "settings.invalid"),
        ({"database": "host=db password=c4n4ry-hunter2"}, "settings.invalid"),
        ({"port": "65536"}, "settings.invalid"),
        ({"kafka": "reader:c4n4ry-hunter2@broker:9092"}, "settings.invalid"),
        ({"registry": "http://reader:c4n4ry-hunter2@registry"}, "settings.invalid"),
        ({"tables": "public.(orders"}, "settings.invalid"),
        ({"topic-prefix": "shop.one"}, "settings.invalid"),
        ({"set": "database.password=c4n4ry-hunter2"}, "settings.invalid"),
        ({"set": "database.password=${env:X}c4n4ry-hunter2"}, "settings.invalid"),
        ({"set": "kafka.sasl.password=c4n4ry-hunter2"}, "settings.invalid"),
        ({"set": "databse.port=1"}, "settings.unknown"),
        ({"source": "postgers"}, "pipeline.unknown_kind"),
        ({"target": "icberg"}, "pipeline.unknown_kind"),
        ({"target": "delta", "warehouse": "s3a://k:c4n4ry-hunter2@bucket"}, "settings.invalid"),
    ],
)
def test_a_bad_answer_is_refused_and_never_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: dict[str, str], code: str
) -> None:
    assert init(tmp_path / "shop.toml", without=(), **flags) == Exit.DEFINITE
    said = capsys.readouterr()
    assert f"[{code}]" in said.err
    assert CANARY not in said.out + said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "more",
    [
        ["--password-env", CANARY],
        ["--password-env", "hunter2"],
        ["--password-file", CANARY],
        ["--password-env", "A", "--password-file", "/a"],
        ["--password", CANARY],
        ["--set", CANARY],
        ["--set", f"={CANARY}"],
        ["--set", "slot.name=a", "--set", "slot.name=b"],
        ["--set", "database.hostname=a"],
        ["--warehouse", "/data"],
        ["--target-password-env", "A"],
    ],
)
def test_a_wrong_flag_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    assert init(tmp_path / "shop.toml", *more) == Exit.USAGE
    said = capsys.readouterr()
    assert CANARY not in said.out + said.err
    assert not list(tmp_path.iterdir())


def test_names_with_odd_characters_arrive_as_they_are(tmp_path: Path) -> None:
    for user in ['o"brien \\ x', "käse 🧀", "'; DROP", "#no comment", "[source]", "x" * 300]:
        file = tmp_path / "shop.toml"
        assert init(file, "--force", user=user) == Exit.OK
        assert settings(file)["source"]["database"]["user"] == user


def test_a_password_in_a_file_brings_its_folder_into_what_may_be_read(tmp_path: Path) -> None:
    file, secret = tmp_path / "shop.toml", tmp_path / "my, pass"
    secret.write_text(CANARY + "\n")
    assert init(file, password_file=str(secret)) == Exit.OK
    assert CANARY not in file.read_text()
    checked = check_file(file, Installed(), {})
    assert checked.findings == ()
    assert checked.pipeline is not None
    assert checked.pipeline.values is not None
    assert checked.pipeline.values.secret("database.password").reveal() == CANARY


def test_a_variable_of_another_name_is_allowed_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    assert init(file, password_env="SHOP_PW") == Exit.OK
    assert check_file(file, Installed(), {"SHOP_PW": CANARY}).findings == ()


def test_what_is_there_stays_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("mine")
    file.chmod(0o644)
    assert init(file) == Exit.OPERATOR
    assert "[init.file_exists]" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert init(file, "--force") == Exit.OK
    assert settings(file)["name"] == "shop1"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_link_is_not_followed_and_a_folder_not_replaced(tmp_path: Path, force: list[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    for leads in (elsewhere, tmp_path / "nowhere"):
        link = tmp_path / "shop.toml"
        link.symlink_to(leads)
        assert init(link, *force) == Exit.OPERATOR
        assert link.is_symlink()
        link.unlink()
    assert elsewhere.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert init(tmp_path, *force) == Exit.OPERATOR
    assert init(tmp_path / "no" / "folder.toml", *force) == Exit.OPERATOR
    assert init(tmp_path / ("x" * 300), *force) == Exit.OPERATOR
    assert init(elsewhere / "below a file", *force) == Exit.OPERATOR
    assert init(tmp_path / "two\nlines", *force) == Exit.OPERATOR
    assert list(tmp_path.iterdir()) == [elsewhere]


def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "shop.toml"
    fill = file_writer._fill

    def slowly(path: Path, content: bytes) -> None:
        fill(path, content)
        file.write_text("mine")

    monkeypatch.setattr(file_writer, "_fill", slowly)
    with pytest.raises(WracklineError, match="is there already"):
        file_writer.write_file(file, "ours", force=False)
    assert [found.read_text() for found in tmp_path.iterdir()] == ["mine"]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("mine")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WracklineError, match="No space left"):
        file_writer.write_file(file, "ours", force=True)
    assert [found.read_text() for found in tmp_path.iterdir()] == ["mine"]


ANSWERS = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40)


@given(ANSWERS, st.lists(ANSWERS, max_size=3))
def test_a_document_says_what_was_answered_and_nothing_else(user: str, tables: list[str]) -> None:
    given = {"name": user, "database.user": user, "kafka.client.rack": user, "target.x": user}
    given |= {
        "table.include.list": ",".join(item.replace(",", "") for item in tables),
        "a.b": "1",
        "a.b.c": "2",
    }
    declared = Declared(settings=())
    read: dict[str, Any] = {}
    try:
        text = toml_text.write_toml(given, SettingsRegistry(CORE), declared, ())
    except ValueError:  # a list that splits and joins to another text is never written
        return
    read = tomllib.loads(text)
    assert read["name"] == user
    assert read["kafka"]["client"]["rack"] == user
    assert read["target"]["x"] == user
    assert (read["a.b"], read["a"]["b"]["c"]) == ("1", "2")


def test_a_password_is_distinguished_from_the_name_of_a_variable() -> None:
    environ = {"shop_pw": CANARY}
    assert answers.password_place("shop_pw", environ).variable == "shop_pw"
    for typed in ("hunter2", "Hunter2", "hunter 2", "${env:X}", "", "/no/such/file", "~nobody/x", "a\nb"):
        with pytest.raises(ValueError, match="expected") as refused:
            answers.password_place(typed, environ)
        assert not typed or typed not in str(refused.value)


def test_on_a_terminal_it_asks_and_asks_again(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    typed = ["postgers", "Postgres", "a b", "db", "99999", "", "reader", "hunter2", "WRACKLINE_DB_PASSWORD"]
    typed += ["shop", "require", "bad.prefix", "", "", "", "broker:9092", "http://registry:8081", ""]
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [sys.executable, "-m", "wrackline.control", "init", str(file)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in typed).encode())
    said = asked.communicate(timeout=120)[0].decode()
    os.close(ours)
    assert asked.returncode == Exit.OK, said
    assert "hunter2" not in said
    assert said.count("expected") == 4
    assert check_file(file, Installed(), PASSWORD).findings == ()
    assert settings(file)["source"]["database"]["hostname"] == "db"
    assert settings(file)["source"]["database"]["sslmode"] == "require"
    assert settings(file)["topic"]["prefix"] == "shop", "the database's name is offered"
    assert said.index("connector.class") < said.index("database.hostname") < said.index("topic.prefix")
    assert "One of: mariadb, mysql, oracle, postgres, sqlserver." in said
    assert "Press Enter to copy all tables" in said
    assert "Press Enter for none: the pipeline then ends in Kafka." in said
    assert said.rstrip().endswith(f"next: wrackline check {file}")


@pytest.mark.parametrize(
    ("database", "offered"),
    [
        ("shop", "shop"),
        ("shop.eu", "shop-eu"),
        ("Shop \xe9t\xe9", "Shop--t"),
        ("shop.*,inv", None),
        (r"shop\.eu", None),
        ("\xe9", None),
        ("", None),
    ],
)
def test_the_prefix_that_is_offered_for_a_database_is_one_that_is_taken(
    database: str, offered: str | None
) -> None:
    assert prefix_of(database) == offered
    assert offered is None or check_server(offered) == offered


@pytest.mark.parametrize("shell", alternatives(["bash", "zsh", "fish"]))
def test_the_shells_complete(shell: str) -> None:
    def answered(**environ: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "wrackline.control"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **environ},
        ).stdout

    assert "_WRACKLINE_COMPLETE" in answered(_WRACKLINE_COMPLETE=f"source_{shell}")
    words = {"_TYPER_COMPLETE_ARGS": "wrackline sna", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    words |= {"COMP_WORDS": "wrackline sna", "COMP_CWORD": "1"}
    assert "snapshot" in answered(_WRACKLINE_COMPLETE=f"complete_{shell}", **words)


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_init_sets_the_database_and_one_password_for_a_server_with_many_databases(
    tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "shop.toml"
    assert init(file, source=kind, password_env="WRACKLINE_DB_PASSWORD") == Exit.OK
    checked = check_file(file, Installed(), PASSWORD)
    assert checked.findings == ()
    assert checked.pipeline is not None
    assert checked.pipeline.values is not None
    values = checked.pipeline.values
    assert values.listed("database.include.list") == ("shop",)
    assert (values.integer("database.port"), values["database.ssl.key.password"]) == (3306, None)
    assert values.secret("database.password").reveal() == CANARY


TUTORIAL = Path(__file__).parents[3] / "docs/tutorial.md"
CALL = re.compile(r"^\$ wrackline (init \S+(?:.*\\\n)+.*)\nwritten: \S+, (\d+) settings$", re.MULTILINE)


@pytest.mark.parametrize(("call", "count"), CALL.findall(TUTORIAL.read_text()))
def test_the_tutorial_says_how_many_settings_its_calls_write(
    call: str, count: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"PGHOST": "h", "PGPORT": "5432", "KAFKA": "h:9092", "REGISTRY": "http://h:8081", "PWD": "/srv"}
    for name, text in places.items():
        monkeypatch.setenv(name, text)
    words = shlex.split(os.path.expandvars(call.replace("\\\n", " ")))
    with pytest.raises(SystemExit) as ended:
        command_line.main(["init", str(tmp_path / words[1]), *words[2:]])
    assert not ended.value.code
    assert f", {count} settings\n" in capsys.readouterr().out


def test_the_tutorial_calls_init_for_each_of_its_sources() -> None:
    assert len(CALL.findall(TUTORIAL.read_text())) == 2
