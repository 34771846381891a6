"""What a connector gets of its group, and what it does not."""

from pathlib import Path

import pytest

from wrackline.control.runtime.check.file_check import Checked
from wrackline.control.runtime.group.group_settings import WorkerGroup, load_group
from wrackline.control.runtime.group.threads import Threads

FILE = """
group.id = "prod"
[kafka]
bootstrap.servers = "broker1:9092"
security.protocol = "sasl_ssl"
sasl.mechanism = "PLAIN"
sasl.username = "wrackline"
sasl.password = "c4n4ry"
linger.ms = 7
[schema.registry]
url = "http://registry:8081"
basic.auth.user.info = "wrackline:c4n4ry"
"""


@pytest.fixture
def group(tmp_path: Path) -> WorkerGroup:
    file = tmp_path / "group.toml"
    file.write_text(FILE)
    loaded = load_group(file, {})
    assert isinstance(loaded, WorkerGroup)
    return loaded


def test_a_connector_gets_what_it_does_not_name(group: WorkerGroup) -> None:
    whole = group.whole({"name": "shop", "kafka.linger.ms": "1"})
    assert whole["kafka.linger.ms"] == "1"
    assert whole["kafka.sasl.password"] == "c4n4ry"
    assert whole["schema.registry.url"] == "http://registry:8081"
    assert "group.id" not in whole


@pytest.mark.parametrize(
    "named",
    [
        "kafka.bootstrap.servers",
        "kafka.security.protocol",
        "kafka.sasl.mechanism",
        "kafka.ssl.ca.location",
        "kafka.enable.ssl.certificate.verification",
    ],
)
def test_a_connector_that_names_another_kafka_gets_no_password_of_this_one(
    group: WorkerGroup, named: str
) -> None:
    """A-ROLE-11."""
    whole = group.whole({named: "x"})
    assert {name for name in whole if name.startswith("kafka.")} == {named}
    assert whole["schema.registry.basic.auth.user.info"] == "wrackline:c4n4ry"


@pytest.mark.parametrize("named", ["schema.registry.url", "schema.registry.ssl.ca.location"])
def test_a_connector_that_names_another_registry_gets_no_password_of_this_one(
    group: WorkerGroup, named: str
) -> None:
    whole = group.whole({named: "x"})
    assert {name for name in whole if name.startswith("schema.registry.")} == {named}
    assert whole["kafka.sasl.password"] == "c4n4ry"


@pytest.mark.parametrize(
    ("line", "at_most"),
    [
        ("kafka.retry.backoff.max.ms = 100", "retry.backoff.ms"),  # a repeat would come before it is expected
        ("kafka.transaction.timeout.ms = 20000", "message.timeout.ms"),
        ("kafka.heartbeat.interval.ms = 7000", "session.timeout.ms"),
    ],
)
def test_a_group_s_settings_bound_each_other_as_a_connector_s_do(
    tmp_path: Path, line: str, at_most: str
) -> None:
    file = tmp_path / "group.toml"
    required = 'group.id = "g"\nkafka.bootstrap.servers = "b:1"\nschema.registry.url = "http://r:1"'
    file.write_text(f"{required}\n{line}\n")
    found = load_group(file, {})
    assert isinstance(found, Checked)
    assert at_most in str(found.findings[0])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('group.id = "wrackline-shop"', "settings.invalid"),
        ('group.id = ".."', "settings.invalid"),
        ('grupo.id = "x"', "settings.unknown"),
        ('group.id = "x"\ntopic.prefix = "shop"', "settings.unknown"),
    ],
)
def test_a_faulty_file_is_reported_without_what_it_holds(tmp_path: Path, line: str, code: str) -> None:
    file = tmp_path / "group.toml"
    file.write_text(FILE.replace('group.id = "prod"', line))
    found = load_group(file, {})
    assert isinstance(found, Checked)
    assert code in [finding.id for finding in found.findings]
    assert "c4n4ry" not in str(found)


def test_the_passwords_are_not_in_what_python_prints_of_a_group(group: WorkerGroup) -> None:
    assert "c4n4ry" not in repr(group)


def test_what_is_of_a_member_is_read_and_no_connector_gets_it(tmp_path: Path) -> None:
    file = tmp_path / "group.toml"
    file.write_text(FILE.replace("linger.ms = 7", "session.timeout.ms = 9000\nheartbeat.interval.ms = 900"))
    loaded = load_group(file, {})
    assert isinstance(loaded, WorkerGroup)
    assert loaded.client.given["session.timeout.ms"] == 9000
    assert not {name for name in loaded.whole({}) if "session" in name or "heartbeat" in name}
    file.write_text(FILE.replace("linger.ms = 7", "heartbeat.interval.ms = 6001"))
    assert isinstance(load_group(file, {}), Checked)


def test_an_error_of_a_thread_is_not_lost() -> None:
    threads, error = Threads(), RuntimeError("first")

    def fails() -> None:
        raise error

    for run in (fails, lambda: None, lambda: 1 / 0):
        thread = threads.make("x", run)  # type: ignore[arg-type] # what it returns is of no use
        thread.start()
        thread.join()
    assert threads.error is error
