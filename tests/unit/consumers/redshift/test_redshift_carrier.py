"""Who writes a batch, and what is removed, without a store."""

import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from tests.fakes.duck_world import ModelCarrier
from wrackline.consumers.contract.plan import Applied, MergePlan, TopicPartition, plan_merge
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn, staged_columns
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.consumers.targets.redshift.carrier import StoreCarrier
from wrackline.consumers.targets.redshift.dialect import IDENTIFIERS
from wrackline.consumers.targets.redshift.store import S3Store
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.targets.merge_model import latest
from wrackline.testing.targets.target_suite import TABLE, A, change

ANY: Any = object()  # changes, which only the writer looks at
COLUMNS = (StageColumn("k", Primitive.TEXT),)
HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


class Objects:
    """A client of S3 that keeps what it is given, by key."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, datetime]] = {}
        self.refuses = False

    def put_object(self, *, Key: str, Body: Any, **more: Any) -> None:  # noqa: N803 - the client's names
        del more
        self.kept[Key] = (Body if isinstance(Body, bytes) else Body.read(), datetime.now(UTC))

    def get_paginator(self, name: str) -> "Objects":
        assert name == "list_objects_v2"
        return self

    def paginate(self, *, Prefix: str, **more: Any) -> list[Any]:  # noqa: N803
        del more
        named = [(key, one) for key, one in self.kept.items() if key.startswith(Prefix)]
        return [
            {"Contents": [{"Key": key, "Size": len(body), "LastModified": at} for key, (body, at) in named]},
            {},
        ]

    def delete_objects(self, *, Delete: Any, **more: Any) -> Any:  # noqa: N803
        del more
        if self.refuses:
            return {"Errors": [{"Key": "x", "Code": "AccessDenied"}]}
        assert len(Delete["Objects"]) <= 1000
        for one in Delete["Objects"]:
            del self.kept[one["Key"]]
        return {}


class Executors:
    """What would be Spark, and how many rows it wrote."""

    def __init__(self, client: Objects, rows: int) -> None:
        self.client, self.rows, self.folders = client, rows, list[str]()

    def write(self, frame: object, plan: MergePlan, columns: Sequence[StageColumn], folder: str) -> int:
        del frame, plan, columns
        self.folders.append(folder)
        if self.rows:
            self.client.put_object(Key=f"{folder.removeprefix('s3a://b/')}/part-0.parquet", Body=b"rows")
        return self.rows


@pytest.fixture
def client() -> Objects:
    return Objects()


@pytest.fixture
def store(client: Objects) -> S3Store:
    return S3Store(client, "b", "batches/shop")


def plan_of(records: int) -> MergePlan:
    upto = Applied({HERE: 100 + records, THERE: 7})
    return replace(plan_merge(TABLE, IDENTIFIERS, upto), since=Applied({HERE: 100, THERE: 7}))


def carried(carrier: StoreCarrier[Any], plan: MergePlan, *changes: Any) -> Any:
    return carrier.carry(latest(changes, None), plan, staged_columns(plan))


def test_small_batches_are_the_driver_s_and_large_ones_the_executors(
    client: Objects, store: S3Store, tmp_path: Path
) -> None:
    executors = Executors(client, rows=5)
    carrier = StoreCarrier[Any](store, ModelCarrier(tmp_path), executors.write, small=10)
    small = carried(carrier, plan_of(10), change("c", A, 1, "x"))
    assert (small.rows, executors.folders) == (1, [])
    assert list(tmp_path.iterdir()) == [], "what was uploaded goes"
    large = carried(carrier, plan_of(11), change("c", A, 1, "x"))
    assert (large.rows, len(executors.folders)) == (5, 1)
    assert large.addresses == (f"{executors.folders[0]}/files.manifest",)
    for files in (small, large):
        carrier.forget(files)
    assert client.kept == {}


def test_without_executors_every_batch_is_the_driver_s(store: S3Store, tmp_path: Path) -> None:
    assert (
        carried(StoreCarrier[Any](store, ModelCarrier(tmp_path)), plan_of(10**9), change("c", A, 1)).rows == 1
    )


def test_an_empty_batch_leaves_no_file(client: Objects, store: S3Store, tmp_path: Path) -> None:
    executors = Executors(client, rows=0)
    carrier = StoreCarrier[Any](store, ModelCarrier(tmp_path), executors.write, small=-1)
    assert carried(carrier, plan_of(1)).addresses == ()
    assert carried(StoreCarrier[Any](store, ModelCarrier(tmp_path)), plan_of(1)).addresses == ()
    assert client.kept == {}


def test_old_files_go_page_by_page_and_new_ones_stay(client: Objects, store: S3Store) -> None:
    for at in range(1_500):
        client.put_object(Key=f"batches/shop/old/{at}", Body=b"")
    old = datetime.now(UTC) - timedelta(days=1, minutes=1)
    client.put_object(Key="batches/shop2/old", Body=b"")
    client.kept = {key: (body, old) for key, (body, _) in client.kept.items()}
    client.put_object(Key="batches/shop/new/1", Body=b"")
    assert store.sweep() == 1_500
    assert set(client.kept) == {"batches/shop/new/1", "batches/shop2/old"}


def test_a_removal_that_is_refused_stops_upkeep_and_no_batch(
    client: Objects, store: S3Store, tmp_path: Path
) -> None:
    carrier = StoreCarrier[Any](store, ModelCarrier(tmp_path))
    files = carried(carrier, plan_of(1), change("c", A, 1, "x"))
    client.refuses = True
    carrier.forget(files)
    with pytest.raises(OperatorNeeded, match=r"redshift\.store_refused.*AccessDenied"):
        store.sweep(timedelta(0))


def test_changes_in_arrow_are_uploaded_if_the_driver_can_write_them(
    client: Objects, store: S3Store, tmp_path: Path
) -> None:
    assert StoreCarrier[Any](store, ModelCarrier(tmp_path)).carry_changes(ANY, plan_of(1), ()) is None

    class Writer(ModelCarrier):
        def carry_changes(self, *given: Any) -> CarriedFiles | None:
            return self.carry_rows([("a",)], COLUMNS) if given[0] is ANY else None

    carrier = StoreCarrier[Any](store, Writer(tmp_path))
    found = carrier.carry_changes(ANY, plan_of(1), COLUMNS)
    assert found is not None
    assert (found.rows, len(client.kept)) == (1, 2)
    assert list(tmp_path.iterdir()) == []
    other: Any = None
    assert carrier.carry_changes(other, plan_of(1), COLUMNS) is None


def test_no_traceback_shows_the_stores_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "for arn:aws:secret"}}, "PutObject")

    objects = Objects()
    monkeypatch.setattr(objects, "put_object", refuse)
    (tmp_path / "a.parquet").write_bytes(b"rows")
    with pytest.raises(OperatorNeeded, match=r"redshift\.store_refused.*AccessDenied") as found:
        S3Store(objects, "b", "one").upload([tmp_path / "a.parquet"])
    assert "secret" not in "".join(traceback.format_exception(found.value))
