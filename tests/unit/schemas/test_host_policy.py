"""A group's list of hosts holds however an address is written, and each setting with one is held to it."""

import re
from pathlib import Path

import pytest

from wrackline.control.runtime.ground.installed import registries
from wrackline.control.runtime.group.group_settings import WorkerGroup, load_group
from wrackline.schemas.settings.host_policy import entry_fault, hosts_in, is_allowed
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

LIST = ("db.example.com", "*.lake.example.com", "10.1.0.0/16", "192.0.2.7", "2001:db8::/32")


@pytest.mark.parametrize(
    "value",
    [
        "db.example.com",
        "DB.Example.com.",
        "db.example.com:9092, 10.1.2.3:9092",
        "SASL_SSL://10.1.255.255:9092",
        "https://user:word@s3.lake.example.com:443/path?x=http://elsewhere",
        "https://[2001:db8::1]:8081",
        "2001:db8::1",
        "192.0.2.7",
    ],
)
def test_what_is_on_the_list_may_be_named(value: str) -> None:
    assert all(is_allowed(host, LIST) for host in hosts_in(value))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "169.254.169.254",
        "localhost",
        "10.2.0.1",
        "lake.example.com",
        "db.example.com.evil.org",
        "db.example.com,evil.org",
        "http://db.example.com@evil.org/",
        "http://evil.org#.lake.example.com",
        "http://evil.org?.lake.example.com",
        "http://evil.org\\.lake.example.com",
        "http://evil.org%2f.lake.example.com",
        "http://evil.org .lake.example.com",
        "http://[::1]/",
        "http://[::ffff:10.1.2.3]/",
        "http://[fe80::1%25eth0]/",
        "10.1.2",
        "0x0a010203",
        "167837955",
        "012.1.2.3",
        "/var/run/postgresql",
        "http://[2001:db8::1]evil.org/",
        "http://[2001:db8::1]evil.org:80/",
    ],
)
def test_what_is_not_on_the_list_may_not(value: str) -> None:
    """A-HOST-01, A-HOST-02, A-HOST-04."""
    assert not all(is_allowed(host, LIST) for host in hosts_in(value))


def test_an_entry_is_a_name_an_address_or_a_network() -> None:
    assert [entry_fault(one) for one in LIST] == [None] * len(LIST)
    assert entry_fault("*") is None
    assert None not in [entry_fault(one) for one in ("10.1.2", "10.1.2.3/16", "a b", "http://x", "x:1", "")]


@pytest.mark.parametrize(
    "odd", ["10.1.*", "db-*", "*.10.1", "*db.example.com", "*.*.example.com", "a.*.org", "*."]
)
def test_a_star_is_an_entry_alone_or_before_a_whole_name(odd: str) -> None:
    assert entry_fault(odd) is not None
    assert not is_allowed("10.1.evil.org", [odd])
    assert not is_allowed("db-evil.org", [odd])


def test_a_star_covers_names_and_no_address() -> None:
    assert is_allowed("any.example.com", ["*"])
    assert is_allowed("a.b.Example.com".lower(), ["*.Example.COM"])
    assert not is_allowed("example.com", ["*.example.com"])
    assert not any(is_allowed(address, ["*"]) for address in ("10.1.2.3", "::1"))


@pytest.mark.parametrize(
    ("warehouse", "refused"),
    [
        ("hdfs://169.254.169.254:8020/x", True),
        ("HDFS://evil.org/x", True),
        ("http://evil.org/x", True),
        ("hdfs://a.example.com?@evil.org/x", True),
        ("hdfs://evil.org?.example.com/x", True),
        ("abfs://a.example.com@evil.org/x", True),
        ("file:hdfs://evil.org/x", True),
        ("hdfs://a.example.com:8020/x,evil.org/y", False),
        ("abfs://box@a.example.com/x", False),
        ("hdfs:///x", False),
        ("s3://bucket/x", False),
        ("s3a://bucket/x", False),
        ("file:///var/lake", False),
        ("/var/lake://x", False),
        ("lake", False),
    ],
)
def test_a_warehouse_names_a_host_unless_it_is_a_bucket_or_a_folder(warehouse: str, *, refused: bool) -> None:
    resolve = Resolver(Allowed(hosts=("*.example.com",)), {})
    for kind in ("target iceberg", "target delta"):
        problems = registries()[kind].read({"target.warehouse": warehouse}, resolve).problems
        codes = [problem.error.code for problem in problems if problem.setting == "target.warehouse"]
        assert ("settings.host_refused" in codes) == refused, (kind, codes)


def test_every_setting_that_names_a_host_is_held_to_the_list(tmp_path: Path) -> None:
    """A-HOST-03."""
    file = tmp_path / "group.toml"
    file.write_text(
        'group.id = "g"\nhosts.allow = ["*.example.com"]\n[kafka]\nbootstrap.servers = "broker:9092"\n'
        '[schema.registry]\nurl = "http://registry:8081,http://second:8081"\n'
    )
    group = load_group(file, {})
    assert isinstance(group, WorkerGroup)
    assert group.allowed.hosts == ("*.example.com", "registry", "second", "broker")
    resolve = Resolver(group.allowed, {"X": "y"})
    for kind, registry in registries().items():
        for name, setting in registry.settings.items():
            if re.search(r"(hostname|servers|url|uri|endpoint)$", name):
                assert setting.host, (kind, name)
    for kind, name, text in (
        ("source postgres", "database.hostname", "inside"),
        ("", "kafka.bootstrap.servers", "inside:9092"),
        ("source mysql", "database.hostname", "inside"),
        ("", "lineage.url", "http://inside/x"),
        ("", "notify.url", "http://inside/x"),
        ("target iceberg", "target.catalog.s3.endpoint", "http://inside"),
        ("target delta", "target.storage.fs.s3a.endpoint", "http://inside"),
    ):
        for given, refused in ((text, True), (text.replace("inside", "a.example.com"), False)):
            problems = registries()[kind].read({name: given}, resolve).problems
            codes = [problem.error.code for problem in problems if problem.setting == name]
            assert ("settings.host_refused" in codes) == refused, (name, given, codes)
    problems = (
        registries()["source postgres"]
        .read({"database.hostname": "${env:WRACKLINE_H}"}, Resolver(group.allowed, {"WRACKLINE_H": "c4n4ry"}))
        .problems
    )
    (told,) = [problem.error for problem in problems if problem.error.code == "settings.host_refused"]
    assert "c4n4ry" not in str(told), "a host may come from a reference to a secret"


def test_without_a_list_any_host_may_be_named_and_no_file_written(tmp_path: Path) -> None:
    file = tmp_path / "group.toml"
    text = (
        'group.id = "g"\nsecrets.allow.folders = ["/etc"]\n[kafka]\nbootstrap.servers = "broker:9092"\n'
        '[schema.registry]\nurl = "http://registry:8081"\n'
    )
    for allowing, refused in (("", True), (f'lineage.allow.folders = ["{tmp_path}"]\n', False)):
        file.write_text(allowing + text)
        group = load_group(file, {})
        assert isinstance(group, WorkerGroup)
        assert group.allowed.hosts is None
        for path, expected in ((tmp_path / "x.jsonl", refused), (Path("/etc/x.jsonl"), True)):
            given = {"lineage.file": str(path), "database.hostname": "anywhere"}
            problems = registries()[""].read(given, Resolver(group.allowed, {})).problems
            codes = {problem.error.code for problem in problems}
            assert ("settings.file_not_written" in codes) == expected
            assert "settings.host_refused" not in codes


def test_a_loop_of_links_to_a_file_that_is_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    resolve = Resolver(Allowed(written=(tmp_path,)), {})
    given = {"lineage.file": str(tmp_path / "loop" / "x.jsonl")}
    problems = registries()[""].read(given, resolve).problems
    assert "secret.not_found" in {one.error.code for one in problems if one.setting == "lineage.file"}
