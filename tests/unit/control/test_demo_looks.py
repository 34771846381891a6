"""Lines that the demo leaves can be pasted: a shell splits them, and the commands they call take them."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import typer

from wrackline.control.cli.command_line import app
from wrackline.control.local.demo import paste_lines
from wrackline.control.local.demo.parts import demo_pipeline, parts
from wrackline.control.local.demo.shops.known import SHOPS, ShopKind, shop_of
from wrackline.control.local.demo.shops.mariadb import MariadbShop
from wrackline.control.local.demo.shops.postgres import PostgresShop
from wrackline.control.local.demo.shops.shop import COUNT_SQL, SEND_SQL, Shop
from wrackline.control.local.demo.shops.standin import StandinShop
from wrackline.control.local.demo.warehouses.bigquery import BigQueryWarehouse
from wrackline.control.local.demo.warehouses.iceberg import IcebergWarehouse
from wrackline.control.local.demo.warehouses.known import WAREHOUSES, WarehouseKind
from wrackline.control.local.demo.warehouses.redshift import RedshiftWarehouse
from wrackline.control.local.demo.warehouses.snowflake import SnowflakeWarehouse
from wrackline.control.local.demo.warehouses.spanner import SpannerWarehouse
from wrackline.control.local.demo.warehouses.warehouse import Warehouse
from wrackline.control.local.emulators.redshift import RedshiftEmulator
from wrackline.control.local.stack import mariadb

FOLDER = Path("/some where/it's the demo")
POSTGRES, MARIADB = PostgresShop(1), MariadbShop(1)
STANDIN = StandinShop(1, "sa", "a password")
CLIENT = "/in the cache/mariadb"


@pytest.fixture(autouse=True)
def a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB's own program, wherever it would be."""
    monkeypatch.setattr(mariadb, "client", lambda: CLIENT)


@pytest.fixture(autouse=True)
def in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path is below the current folder, unless a test says so."""
    monkeypatch.chdir(tmp_path)


def words(name: str) -> list[str]:
    (found,) = (
        line
        for _, line in paste_lines.lines_while_running(FOLDER, "127.0.0.1:9092", POSTGRES, IcebergWarehouse)
        if name in line
    )
    return shlex.split(found)


@pytest.mark.parametrize(("shop", "client"), [(POSTGRES, "psql"), (MARIADB, CLIENT)])
def test_every_line_is_one_command_of_a_program_that_is_named(shop: Shop, client: str) -> None:
    lines = paste_lines.lines_while_running(FOLDER, "127.0.0.1:9092", shop, IcebergWarehouse)
    programs = [shlex.split(line)[0] for _, line in lines]
    assert set(programs) == {client, "kcat", "./run", sys.executable}
    query, remove = paste_lines.lines_after_end(FOLDER, IcebergWarehouse)
    assert query in lines
    assert shlex.split(remove[1]) == ["rm", "-r", str(FOLDER)]


@pytest.mark.parametrize("shop", [POSTGRES, MARIADB])
def test_the_source_s_client_gets_a_statement_as_one_word(shop: Shop) -> None:
    assert [shlex.split(line)[-1] for _, line in shop.looks()] == [COUNT_SQL, SEND_SQL]


def test_wrackline_takes_the_line_of_the_tail() -> None:
    run, wrackline, verb, *arguments = words("wrackline tail")
    assert (run, wrackline) == ("./run", "wrackline")
    group = typer.main.get_command(app)
    command = group.commands[verb]  # type: ignore[attr-defined]  # it is a group
    with command.make_context(verb, list(arguments)) as taken:
        assert (taken.params["file"], taken.params["count"]) == (FOLDER / "pipeline.toml", 5)


def test_spark_sql_gets_folder_and_query_as_one_word_each() -> None:
    program, *module, folder, query = words("demo.warehouse_query")
    assert (program, module) == (sys.executable, ["-m", "wrackline.control.local.demo.warehouse_query"])
    assert folder == str(FOLDER)
    assert query.startswith("SELECT status, count(*) FROM orders")


def test_paths_below_the_current_folder_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = tmp_path / ".stack/demo"
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    for _, line in paste_lines.lines_while_running(
        tmp_path / ".stack/demo", "127.0.0.1:9092", POSTGRES, IcebergWarehouse
    ):
        assert str(tmp_path) not in line
    (query, _), (remove, _) = (
        (shlex.split(line), what) for what, line in paste_lines.lines_after_end(demo, IcebergWarehouse)
    )
    assert (query[0], query[3]) == (".venv/bin/python", ".stack/demo")
    assert remove == ["rm", "-r", ".stack/demo"]


@pytest.mark.parametrize("shop", [POSTGRES, MARIADB, STANDIN], ids=list(ShopKind))
def test_the_process_that_compares_finds_the_shop_that_the_pipeline_s_file_names(
    shop: Shop, tmp_path: Path
) -> None:
    file = written(tmp_path, shop, IcebergWarehouse(tmp_path))
    assert shop_of(demo_pipeline.read_pipeline(file)) == shop


@pytest.mark.parametrize("shop", SHOPS.values(), ids=SHOPS)
def test_what_alters_the_table_fits_a_line_of_the_picture(shop: type[Shop]) -> None:
    assert len(f"00:00 {shop.alters}") <= 80 - 4


def written(folder: Path, shop: Shop, place: Warehouse) -> Path:
    return demo_pipeline.write_pipeline(
        folder, shop, brokers="127.0.0.1:1", registry="http://127.0.0.1:2", target=place.settings
    )


PLACES: Mapping[WarehouseKind, Callable[[Path], Warehouse]] = {
    WarehouseKind.ICEBERG: IcebergWarehouse,
    WarehouseKind.REDSHIFT: lambda folder: RedshiftWarehouse(
        RedshiftEmulator(cast("Any", folder), port=1, store_port=2)
    ),
    WarehouseKind.BIGQUERY: lambda _: BigQueryWarehouse("http://127.0.0.1:1"),
    WarehouseKind.SNOWFLAKE: lambda folder: SnowflakeWarehouse("http://127.0.0.1:1", folder / "key.p8"),
    WarehouseKind.SPANNER: lambda _: SpannerWarehouse("http://127.0.0.1:1"),
}


@pytest.mark.parametrize("kind", WAREHOUSES)
def test_the_process_that_reads_the_copy_finds_the_warehouse_that_the_file_names(
    kind: WarehouseKind, tmp_path: Path
) -> None:
    place = PLACES[kind](tmp_path)
    file = written(tmp_path, POSTGRES, place)
    assert demo_pipeline.read_pipeline(file).text("target.kind") == place.kind


@pytest.mark.parametrize("shop", SHOPS.values(), ids=SHOPS)
def test_a_stand_in_is_named_as_one_before_anything_is_downloaded(
    shop: type[Shop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(parts, "are_fetched", lambda _: False)
    monkeypatch.setattr(parts, "fetch", fetch)
    said: list[str] = []
    with (
        pytest.raises(InterruptedError),
        parts.start_parts(tmp_path, shop, IcebergWarehouse, said.append),
    ):
        pytest.fail("it started")
    assert bool(shop.stands_for) == ("(stand-in)" in shop.title)
    first = [shop.stands_for] if shop.stands_for else []
    assert said == [*first, "downloading Kafka; this is done once"]


@pytest.mark.parametrize("place", WAREHOUSES.values(), ids=WAREHOUSES)
def test_an_emulator_is_named_as_one_and_its_rows_are_gone_at_the_end(place: type[Warehouse]) -> None:
    """Only a copy that stays has a line that asks it afterwards."""
    assert bool(place.stands_for) == ("(emulator)" in place.title) == (not place.stays)
    assert "emulator" in (place.stands_for or "emulator")
    assert len(f"00:00 {place.stands_for}") <= 100
    assert len(place.label) <= 13
    afterwards = [line for _, line in paste_lines.lines_after_end(FOLDER, place)]
    assert ("warehouse_query" in afterwards[0]) == place.stays
