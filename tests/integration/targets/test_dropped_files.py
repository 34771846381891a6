"""What a dropped table of a lake leaves in its warehouse: nothing; and whose table is never dropped."""

from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.tiers import alternatives
from tests.integration.targets.delta.world import DeltaWorld
from tests.integration.targets.iceberg.world import IcebergWorld
from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers.contract.letters import NAME
from wrackline.consumers.lake.table_shape import NOT_OURS
from wrackline.consumers.spark.folders import FILES_STAY, Folder, folder
from wrackline.consumers.targets.iceberg import drop
from wrackline.consumers.targets.iceberg.drop import KEEPS_ALL, KEEPS_FILES
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.targets.drop_suite import OTHER, dropping
from wrackline.testing.targets.target_suite import TABLE, A, B, Crash, change, letter, plan_for, put


@pytest.fixture(params=alternatives(["iceberg", "delta"]))
def lake(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession, namespace: str) -> SparkWorld:
    return IcebergWorld(spark, namespace) if request.param == "iceberg" else DeltaWorld(spark, tmp_path)


def folder_of(world: SparkWorld) -> Path:
    """Return the folder of the suite's table, as Spark says it."""
    told = world.spark.sql(f"DESCRIBE TABLE EXTENDED {world.name(TABLE.id)}")
    return Path(urlsplit(told.where("col_name = 'Location'").collect()[-1]["data_type"]).path)


def test_no_file_is_left_and_the_neighbours_are_whole(lake: SparkWorld) -> None:
    for number in (1, 2, 3):
        put(lake, plan_for(lake, number), change("c", A, number, f"a{number}"), change("d", B, number))
    put(lake, plan_for(lake, 1, table=OTHER), change("c", A, 1, "x"))
    lake.target.letters.keep(TABLE.id, [letter(1)])
    lake.target.upkeep(TABLE.id, forget_before_ms=10**9)
    where = folder_of(lake)
    of_letters = [path for path in (where.parent / NAME).rglob("*.parquet") if "_delta_log" not in path.parts]
    assert of_letters
    (where / "left-by-a-writer-that-died.parquet").touch()
    beside = {path.name for path in where.parent.iterdir()}
    assert dropping(lake).drop(TABLE.id)
    assert {path.name for path in where.parent.iterdir()} == beside - {where.name}
    assert len(lake.visible(OTHER.id)) == 1
    assert not any(path.exists() for path in of_letters), "bytes of letters are left"


def test_what_is_not_our_copy_stays(lake: SparkWorld) -> None:
    name, using = lake.name(TABLE.id), "iceberg" if isinstance(lake, IcebergWorld) else "delta"
    put(lake, plan_for(lake, 1, table=OTHER), change("c", A, 1, "x"))  # it makes the namespace
    lake.spark.sql(f"CREATE TABLE {name} (mine int) USING {using}")
    lake.spark.sql(f"INSERT INTO {name} VALUES (1)")
    with pytest.raises(OperatorNeeded) as refused:
        dropping(lake).drop(TABLE.id)
    assert refused.value.code == NOT_OURS.code
    assert [row.mine for row in lake.spark.table(name).collect()] == [1]


@pytest.mark.full
def test_another_tables_copy_stays(lake: SparkWorld) -> None:
    put(lake, plan_for(lake, 1), change("c", A, 1, "x"))
    same_place = TABLE.id._replace(database="elsewhere")
    with pytest.raises(OperatorNeeded, match="is not the copy of elsewhere"):
        dropping(lake).drop(same_place)
    assert len(lake.visible(TABLE.id)) == 1


@pytest.mark.spark
def test_iceberg_files_that_others_may_need_stay(spark: SparkSession, namespace: str) -> None:
    world = IcebergWorld(spark, namespace)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    name = world.name(TABLE.id)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    world.target.letters.keep(TABLE.id, [letter(1)])
    with pytest.raises(OperatorNeeded) as refused:
        dropping(world).drop(TABLE.id)
    assert refused.value.code == KEEPS_FILES.code
    assert len(world.visible(TABLE.id)) == 1
    assert len(list(world.target.letters.kept(TABLE.id))) == 1, "refused before anything went"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('gc.enabled' = 'true')")  # as its hint says
    assert dropping(world).drop(TABLE.id)


@pytest.mark.spark
def test_where_iceberg_may_delete_no_file_a_drop_is_refused_before_anything_goes(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which store refuses it is in test_bucket.py."""
    world = IcebergWorld(spark, namespace)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.target.letters.keep(TABLE.id, [letter(1)])

    def refuse(_: SparkSession, name: str) -> None:
        raise KEEPS_ALL(target=name, place="s3://lake", why="S3Exception")

    monkeypatch.setattr(drop, "_delete_one", refuse)
    with pytest.raises(OperatorNeeded) as refused:
        dropping(world).drop(TABLE.id)
    assert refused.value.code == KEEPS_ALL.code
    assert len(world.visible(TABLE.id)) == 1
    assert len(list(world.target.letters.kept(TABLE.id))) == 1


@pytest.mark.full
@pytest.mark.spark
def test_a_removal_that_ends_anywhere_is_finished_by_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = DeltaWorld(spark, tmp_path)
    for number in range(1, 5):
        put(world, plan_for(world, number), change("c", A, number, f"a{number}"))
        spark.sql(f"ALTER TABLE {world.name(TABLE.id)} SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    where, real, left = folder_of(world), Folder.remove, [3]

    def ending(of: Folder, name: str = ".") -> None:
        if left[0] == 0:
            raise Crash(name)
        left[0] -= 1
        real(of, name)

    monkeypatch.setattr(Folder, "remove", ending)
    crashes = 0
    while where.exists():
        left[0] = 3  # each time a little goes
        world.restart()
        assert world.target.held(TABLE.id), "nobody knows any more whose it is"
        with suppress(Crash):
            dropping(world).drop(TABLE.id)
            break
        crashes += 1
    assert crashes > 3
    assert not where.exists()


@pytest.mark.spark
def test_files_that_cannot_be_removed_are_named(spark: SparkSession, tmp_path: Path) -> None:
    class Stuck:
        """A file system whose folders stay."""

        def delete(self, path: object, below: object) -> bool:
            assert below, path
            return False

        def exists(self, path: object) -> bool:
            return path is not None

    found = folder(spark, f"file:{tmp_path}")
    assert found is not None
    with pytest.raises(OperatorNeeded) as refused:
        Folder(Stuck(), found._path).remove("data")
    assert refused.value.code == FILES_STAY.code
    assert f"{tmp_path}/data can't be removed" in refused.value.sentence


@pytest.mark.spark
def test_of_a_folder_only_one_without_files_counts_as_left(spark: SparkSession, tmp_path: Path) -> None:
    found = folder(spark, f"file:{tmp_path}/table")
    assert found is not None
    assert not found.holds_no_file(), "it is not there"
    (tmp_path / "table" / "data").mkdir(parents=True)
    assert found.holds_no_file()
    (tmp_path / "table" / "data" / "a.parquet").touch()
    assert not found.holds_no_file()
