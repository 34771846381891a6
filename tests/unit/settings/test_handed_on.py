"""What Spark, Hadoop and Iceberg are handed: anything by the owner's file, a list of names from elsewhere."""

from pathlib import Path

import pytest

from tests.unit.settings.shop import CANARY, GOOD, checked, codes
from wrackline.control.runtime.check import assessment
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.connect.child import Child, ChildReport
from wrackline.producers.connect.nursery import Nursery
from wrackline.schemas.pipelines.pipeline import check, load
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

CODE = "settings.not_from_elsewhere"
LAKE = {**GOOD, "target.kind": "iceberg", "target.warehouse": "/lake"}
DELTA = {**GOOD, "target.kind": "delta", "target.warehouse": "/lake"}
EVIL = ("spark.driver.extraJavaOptions", '-XX:OnOutOfMemoryError="id"')

RUNS_OR_READS = [
    EVIL,
    ("spark.driver.defaultJavaOptions", "-agentpath:/opt/x.so"),
    ("spark.executor.extraJavaOptions", "-agentpath:/opt/x.so"),
    ("spark.driver.extraLibraryPath", "/opt"),
    ("spark.executor.extraClassPath", "/opt/x.jar"),
    ("spark.jars", "http://10.0.0.1/x.jar"),
    ("spark.jars.packages", "a:b:1"),
    ("spark.jars.repositories", "http://10.0.0.1"),
    ("spark.plugins", "a.B"),
    ("spark.extraListeners", "a.B"),
    ("spark.sql.extensions", "a.B"),
    ("spark.sql.catalog.other", "a.B"),
    ("spark.pyspark.python", "/opt/x"),
    ("spark.pyspark.driver.python", "/opt/x"),
    ("spark.submit.pyFiles", "/opt/x.py"),
    ("spark.serializer", "a.B"),
    ("spark.eventLog.dir", "file:/etc"),
    ("spark.eventLog.enabled", "true"),
    ("spark.local.dir", "/etc"),
    ("spark.hadoop.hadoop.security.credential.provider.path", "jceks://file/etc/x"),
    ("spark.hadoop.fs.file.impl", "a.B"),
    ("spark.remote", "sc://10.0.0.1:15002"),
    ("spark.master", "spark://10.0.0.1:7077"),
    ("spark.master", "k8s://https://10.0.0.1"),
    ("spark.unheard.of", "x"),
]


@pytest.mark.parametrize(("name", "value"), RUNS_OR_READS)
def test_what_runs_or_reads_something_is_refused_from_elsewhere(name: str, value: str) -> None:
    """A-CLIENT-10."""
    (problem,) = checked({**LAKE, name: value}).problems
    assert (problem.setting, problem.error.code, problem.warning) == (name, CODE, False)
    assert f'spark.allow = ["{name}"]' in problem.error.hint
    assert value not in str(problem.error)


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        (DELTA, "target.storage.hadoop.security.credential.provider.path", "jceks://file/etc/x"),
        (DELTA, "target.storage.fs.s3a.impl", "a.B"),
        (DELTA, "target.storage.fs.s3a.aws.credentials.provider", "a.B"),
        (DELTA, "target.storage.fs.s3a.endpoint", "http://${env.HOME}.example"),
        (DELTA, "target.storage.fs.s3a.secret.key", "${env.HOME}"),
        (LAKE, "target.catalog.io-impl", "a.B"),
        (LAKE, "target.catalog.metrics-reporter-impl", "a.B"),
        (LAKE, "target.catalog.client.factory", "a.B"),
        (LAKE, "target.catalog.s3.endpoint", "file:///etc/passwd"),
        (LAKE, "target.catalog.token", "a\nspark.jars=x"),
    ],
)
def test_so_is_what_a_target_hands_on(target: dict[str, str], name: str, value: str) -> None:
    """A-CLIENT-11."""
    assert codes(checked({**target, name: value})) == [(name, CODE)]


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        (LAKE, "spark.driver.memory", "4g"),
        (LAKE, "spark.master", "local[4]"),
        (LAKE, "spark.executor.memory", "2g"),
        (LAKE, "spark.sql.shuffle.partitions", "8"),
        (LAKE, "spark.network.timeout", "300s"),
        (LAKE, "spark.sql.autoBroadcastJoinThreshold", "-1"),
        (LAKE, "spark.driver.maxResultSize", "0"),
        (LAKE, "spark.locality.wait", "0s"),
        (LAKE, "target.warehouse", "s3://bucket/a folder"),
        (LAKE, "target.catalog.uri", "thrift://host:9083"),
        (LAKE, "target.catalog.s3.endpoint", "https://store.internal:9000"),
        (LAKE, "target.catalog.credential", f"me:{CANARY}"),
        (DELTA, "target.storage.fs.s3a.endpoint", "store.internal:9000"),
        (DELTA, "target.storage.fs.s3a.secret.key", "wJalrXUtnFEMI/K7MDENG+b"),
    ],
)
def test_sizes_counts_times_and_log_ins_are_taken(target: dict[str, str], name: str, value: str) -> None:
    assert codes(checked({**target, name: value})) == []


@pytest.mark.parametrize("value", ["x", "-1", "1;id", "200 -agentpath:x", "", "0"])
def test_a_listed_name_takes_no_value_of_another_form(value: str) -> None:
    """A-CLIENT-12."""
    assert codes(checked({**LAKE, "spark.sql.shuffle.partitions": value})) == [
        ("spark.sql.shuffle.partitions", CODE)
    ]


def test_the_owner_of_the_machine_is_free(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    given = {**LAKE, **dict(RUNS_OR_READS), "spark.master": "yarn"}
    file.write_text("".join(f"'{name}' = '{value}'\n" for name, value in given.items()))
    assert codes(load(file, Installed(), {})) == []


def test_the_owner_of_a_group_allows_single_names() -> None:
    resolve = Resolver(Allowed(handed_on=("spark.jars", "target.catalog.client.*")), {})
    good = {**LAKE, "spark.jars": "/opt/x.jar", "target.catalog.client.factory": "a.B"}
    assert codes(check(good, Installed(), resolve)) == []
    bad = {**good, "spark.jars.packages": "a:b:1"}
    assert codes(check(bad, Installed(), resolve)) == [("spark.jars.packages", CODE)]


def test_settings_that_keep_values_right_cannot_be_overridden() -> None:
    resolve = Resolver(Allowed().of_the_owner(), {})
    given = {**LAKE, "spark.sql.ansi.enabled": "false"}
    assert codes(check(given, Installed(), resolve)) == [("spark.sql.ansi.enabled", "settings.invalid")]


def test_a_record_of_the_group_that_was_forged_starts_nothing() -> None:
    """A-ROLE-12."""
    forged = {**LAKE, **dict([EVIL])}
    nursery = Nursery(["wrackline.control.runtime.check.assessment"])
    told = assessment.assess("shop", nursery.way(assessment.assess_settings, forged, Allowed()))
    assert [finding["id"] for finding in told["findings"]] == [CODE]
    child = Child(nursery.way(task_process.run_settings, forged, Allowed(), TaskPlace()))
    errors: list[object] = []
    while child.exit_code is None:
        errors += [heard.report.get("error") for heard in child.hear() if isinstance(heard, ChildReport)]
    errors += [heard.report.get("error") for heard in child.hear() if isinstance(heard, ChildReport)]
    child.close()
    assert CODE in str(errors)
