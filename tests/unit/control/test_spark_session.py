"""From settings to a Spark session, as far as no Java is needed."""

import subprocess
import sys
from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException

from wrackline.consumers.spark.sessions import is_gone, merge_settings
from wrackline.control.cli.command_line import main
from wrackline.control.runtime.spark.spark_session import open_session
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.settings.declared.consume_settings import CONSUME
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry

TOKEN = "sc://host:15002/;token=hush-hush-7"


def reading(**given: str) -> CheckedSettings:
    named = {f"spark.{name}": value for name, value in given.items()}
    return SettingsRegistry(Declared(settings=CONSUME)).read(named, Resolver(Allowed().of_the_owner(), {}))


def test_given_settings_override_needed_ones_and_extensions_add_up() -> None:
    needed = {"spark.sql.extensions": "a.A,b.B", "one": "1", "two": "2"}
    assert merge_settings(needed, {"two": "3", "spark.sql.extensions": "c.C,a.A"}) == {
        "spark.sql.extensions": "a.A,b.B,c.C",
        "one": "1",
        "two": "3",
    }
    assert merge_settings({}, {"one": "1"}) == {"one": "1"}


def test_a_server_that_has_gone_is_distinguished_from_a_batch_that_failed() -> None:
    assert is_gone(Py4JNetworkError())
    assert is_gone(PySparkException("x", "RETRIES_EXCEEDED", {}))
    assert is_gone(PySparkException("x", "INVALID_HANDLE.SESSION_CHANGED", {}))
    assert not any(map(is_gone, (None, Py4JError(), PySparkException("x", "DIVIDE_BY_ZERO", {}))))
    assert not is_gone(PySparkException("no condition"))


def test_the_address_of_a_server_is_shown_nowhere() -> None:
    found = reading(remote=TOKEN)
    assert found.values is not None
    assert "hush" not in repr(found)
    (problem,) = reading(remote="spark://hush-hush-7:7077").problems
    assert "sc://" in problem.error.sentence
    assert "hush" not in str(problem.error)


def test_one_process_has_one_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    values = reading(remote=TOKEN).values
    assert values is not None
    with pytest.raises(OperatorNeeded) as caught, open_session(values, (), {}, None):
        pass
    assert caught.value.code == "spark.submitted_and_remote"


@pytest.mark.full
def test_without_the_client_of_a_server_the_other_ways_stay() -> None:
    program = (
        "import sys; sys.modules['grpc'] = None\n"
        "from wrackline.control.cli.commands.explain import import_everything\n"
        "print(*import_everything())\n"
        "from wrackline.control.runtime.spark.spark_session import _connect\n"
        "_connect('sc://h', {}, {})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    # Spanner's client needs grpc too; so do its emulator and the demos, which run in a clone with all extras
    others = ("wrackline.consumers.targets.spanner.", "wrackline.control.local.")
    without = [name for name in done.stdout.split() if not name.startswith(others)]
    assert without == ["wrackline.consumers.spark.remote_session"]
    assert "pip install -e '.[connect]'" in done.stderr


def test_the_application_is_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["spark", "application"])
    file = Path(capsys.readouterr().out.strip())
    done = subprocess.run(
        [sys.executable, file, "errors", "spark.remote_setting"], capture_output=True, check=True
    )
    assert b"spark.remote_setting" in done.stdout
