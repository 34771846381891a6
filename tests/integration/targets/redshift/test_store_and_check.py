"""The store, what COPY refuses, a conflict, and the findings, each with what repairs it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.starting_over import starts_over
from tests.integration.targets.redshift.world import DIALECT, ROLE, RedshiftWorld
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.consumers.targets.redshift.check import RedshiftCheck
from wrackline.consumers.targets.redshift.config import read_endpoint
from wrackline.consumers.targets.redshift.service import RedshiftService
from wrackline.consumers.targets.redshift.store import open_store
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.types import Kind
from wrackline.testing.targets.target_suite import TABLE, A, change, labels, letter, plan_for, put

pytestmark = pytest.mark.servers

CLUSTER = "shop.abc123.us-east-1.redshift.amazonaws.com"
WORKGROUP = "shop.123456789012.us-east-1.redshift-serverless.amazonaws.com"
ARN = str(ROLE.arn)


def test_a_batch_is_a_manifest_that_names_its_files(world: RedshiftWorld, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    for at, file in enumerate(files, 1):
        file.write_bytes(b"x" * at)
    manifest = world.store.upload(files)
    (key,) = (name for name in world.files() if name.endswith("/files.manifest"))
    assert manifest == f"s3a://{world.bucket}/{key}"
    body = world.store.client.get_object(Bucket=world.bucket, Key=key)["Body"].read()
    folder = f"s3://{world.bucket}/{key.rpartition('/')[0]}"
    assert key.startswith("batches/shop/")
    assert json.loads(body) == {
        "entries": [
            {"url": f"{folder}/{file.name}", "mandatory": True, "meta": {"content_length": at}}
            for at, file in enumerate(files, 1)
        ]
    }
    world.store.forget(manifest)
    assert world.files() == []


@pytest.mark.full
def test_what_spark_wrote_is_named_without_its_marks(world: RedshiftWorld) -> None:
    folder = world.store.new_folder()
    key = folder.removeprefix(f"s3a://{world.bucket}/")
    for name in ("", "_SUCCESS", "part-0.snappy.parquet", "_temporary/0/"):
        world.store.client.put_object(Bucket=world.bucket, Key=f"{key}/{name}", Body=b"")
    manifest = world.store.seal(folder).removeprefix(f"s3a://{world.bucket}/")
    body = world.store.client.get_object(Bucket=world.bucket, Key=manifest)["Body"].read()
    assert [one["url"] for one in json.loads(body)["entries"]] == [
        f"s3://{world.bucket}/{key}/part-0.snappy.parquet"
    ]


@pytest.mark.full
def test_files_that_a_crash_left_go_with_upkeep_when_they_are_old(world: RedshiftWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.store.client.put_object(Bucket=world.bucket, Key="batches/shop/left/part.parquet", Body=b"x")
    world.store.client.put_object(Bucket=world.bucket, Key="batches/shop2/other", Body=b"x")
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 0
    world.carrier.sweep = lambda: world.store.sweep(timedelta(0))  # type: ignore[method-assign]
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 1
    assert world.files() == ["batches/shop2/other"], "another pipeline's files stay"


@pytest.mark.full
def test_a_store_that_refuses_is_told_from_one_that_is_not_there(
    world: RedshiftWorld, tmp_path: Path
) -> None:
    gone = replace(world.store, bucket="no-such-bucket")
    (file := tmp_path / "a.parquet").write_bytes(b"x")
    for doing in (gone.sweep, partial(gone.upload, [file]), gone.region):
        with pytest.raises(OperatorNeeded, match=r"redshift\.store_refused.*(NoSuchBucket|404)"):
            doing()
    dead = open_store(world.settings(**{"storage.fs.s3a.endpoint": "http://127.0.0.1:1"}))
    dead.client.meta.config.retries["total_max_attempts"] = 1
    with pytest.raises(Transient, match=r"redshift\.store_unreachable"):
        dead.sweep()
    with pytest.raises(OperatorNeeded, match=r"redshift\.encryption_unreadable"):
        open_store(world.settings(**{"storage.fs.s3a.encryption.algorithm": "SSE-C"}))


def test_a_value_beyond_a_limit_is_refused_before_anything_is_sent(world: RedshiftWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x" * 65_535))
    world.trap.texts.clear()
    plan = plan_for(world, 2)
    with pytest.raises(
        OperatorNeeded, match=r"target\.value_refused.*'label'.*longer than 65535 bytes"
    ) as found:
        world.target.stage(world.frame([change("u", A, 2, "é" * 32_768)], plan), plan)
    assert "é" not in str(found.value)
    assert (world.trap.texts, world.files()) == ([], [])
    assert world.target.can.limits[Kind.STRING] == Limit(65_535), "a record is set aside by the same data"


def test_what_copy_refuses_is_told_without_the_value(world: RedshiftWorld) -> None:
    """No limit is missed; but if one were, COPY would stop the batch."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = plan_for(world, 2)
    world.carrier.carry = partial(unlimited, world.carrier.carry)  # type: ignore[method-assign]
    with pytest.raises(OperatorNeeded, match=r"redshift\.load_refused.*error 1204 in column c2") as found:
        world.target.stage(world.frame([change("u", A, 2, "secret" * 11_000)], plan), plan)
    assert "secret" not in str(found.value)
    assert world.files() == [], "files go all the same"
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_a_file_that_is_not_what_its_manifest_says_is_refused(world: RedshiftWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    client, carry = world.store.client, world.carrier.carry

    def changed(*given: Any) -> Any:
        files = carry(*given)
        for name in world.files():
            if name.endswith(".parquet"):
                client.put_object(Bucket=world.bucket, Key=name, Body=b"another")
        return files

    world.carrier.carry = changed  # type: ignore[assignment, method-assign]
    plan = plan_for(world, 2)
    with pytest.raises(OperatorNeeded, match=r"redshift\.load_refused"):
        world.target.stage(world.frame([change("u", A, 2, "y")], plan), plan)


@pytest.mark.full
def test_a_conflict_of_two_transactions_is_tried_again(world: RedshiftWorld) -> None:
    """Redshift says 1023, and nothing else that a program could tell it by."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    place = world.layout.place(TABLE.id)
    world.sql("CREATE FUNCTION conflicts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '1023'; END $$")
    table = f'"{place.table.schema}"."{place.table.name}"'
    world.sql(f"CREATE TRIGGER busy BEFORE INSERT OR UPDATE ON {table} EXECUTE FUNCTION conflicts()")
    with pytest.raises(Transient, match=r"redshift\.conflict"):
        put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "x"}, "nothing of it is there"
    world.sql(f"DROP TRIGGER busy ON {table}")
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_letters_go_by_the_same_way(world: RedshiftWorld) -> None:
    world.target.ensure_table(plan_for(world, 1))
    world.target.letters.keep(TABLE.id, [letter(5)])
    assert list(world.target.letters.kept(TABLE.id)) == [letter(5)]
    assert world.files() == []


def unlimited(carry: Callable[..., CarriedFiles], *given: Any) -> CarriedFiles:
    """Carry as if nothing had a limit."""
    frame, plan, columns = given
    return carry(frame, plan, tuple(replace(one, limit=None) for one in columns))


def found(world: RedshiftWorld, host: str = CLUSTER, interval_ms: int = 60_000, **user: str) -> list[Finding]:
    """What a check finds, as another user if one is named."""
    check = RedshiftCheck(ROLE, world.store, read_endpoint(host), interval_ms)
    service = RedshiftService(lambda: world.connect(**user), ROLE, check)
    session = service.session()
    try:
        return list(service.check(session, [world.layout.place(TABLE.id)]))
    finally:
        session.close()


@contextmanager
def reader_of(world: RedshiftWorld, name: str) -> Iterator[str]:
    world.sql(f'CREATE ROLE "{name}" LOGIN')
    try:
        yield name
    finally:
        world.sql(f'DROP OWNED BY "{name}"')
        world.sql(f'DROP ROLE "{name}"')


def test_a_right_that_is_missing_is_granted_by_the_finding_s_sql(world: RedshiftWorld) -> None:
    with reader_of(world, "Loader") as user:
        assert [one.id for one in found(world, user=user)] == [
            "redshift.no_create",
            "redshift.no_schema_right",
        ]
        world.sql("CREATE SCHEMA wrackline")
        world.sql(f"INSERT INTO redshift.refused_roles VALUES ('{ARN}')")
        missing = found(world, user=user)
        codes = ["redshift.no_schema_right", "redshift.no_schema_right", "redshift.no_role_right"]
        assert [one.id for one in missing] == codes
        for one in missing[:2]:
            world.sql(one.suggestion)
        assert missing[2].suggestion == f"GRANT ASSUMEROLE ON '{ARN}' TO \"Loader\" FOR COPY"
        world.sql("DELETE FROM redshift.refused_roles")
        assert found(world, user=user) == []


@pytest.mark.full
def test_a_name_of_somebody_else_and_dead_rows_are_found(world: RedshiftWorld) -> None:
    name = world.layout.place(TABLE.id).table.name
    world.sql("CREATE TABLE public.orders (id int); CREATE SCHEMA wrackline")
    world.sql(f"CREATE VIEW wrackline.{name} AS SELECT 1")
    taken = found(world)
    assert [one.id for one in taken] == ["redshift.not_our_place"] * 2
    for one in taken:
        world.sql(one.suggestion.partition(";")[0])
    assert found(world) == []
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"INSERT INTO redshift.svv_table_info VALUES ('wrackline', '{name}', 3000000, 1000000)")
    (dead,) = found(world)
    assert (dead.id, "2000000 rows" in dead.description) == ("redshift.dead_rows", True)
    world.sql("UPDATE redshift.svv_table_info SET estimated_visible_rows = 2000000")
    assert found(world) == [], "a part of it is left to Redshift"
    world.sql("REVOKE SELECT ON redshift.svv_table_info FROM PUBLIC")
    with reader_of(world, "Loader") as user:
        world.sql(f'GRANT ALL ON SCHEMA public, wrackline TO "{user}"')
        assert found(world, user=user) == [], "who may not see sizes is not stopped"


def test_what_a_hint_says_to_run_starts_a_table_over(world: RedshiftWorld) -> None:
    """A table under a view can't be dropped, there and in Redshift."""
    state = DIALECT.path(world.layout.place(TABLE.id).state)
    starts_over(world, world.sql, f"UPDATE {state} SET shape = 'x'")


def test_what_a_pace_costs_is_said(world: RedshiftWorld) -> None:
    (often,) = found(world, interval_ms=1_000)
    assert often.id == "redshift.many_commits"
    assert "up to 240 commits a minute" in often.description
    assert often.suggestion.endswith('consume.trigger.interval.ms = "60000"')
    (awake,) = found(world, WORKGROUP, 60_000)
    assert awake.id == "redshift.always_awake"
    assert found(world, WORKGROUP, 300_000) == []


@pytest.mark.full
def test_a_bucket_elsewhere_or_closed_is_found(world: RedshiftWorld) -> None:
    (elsewhere,) = found(world, CLUSTER.replace("us-east-1", "eu-west-1"))
    assert elsewhere.id == "redshift.other_region"
    assert elsewhere.suggestion.startswith(f"aws s3 mb s3://{world.bucket}-eu-west-1 --region eu-west-1")
    world.store = replace(world.store, bucket="no-such-bucket")
    (closed,) = found(world)
    assert closed.id == "redshift.no_bucket_right"
