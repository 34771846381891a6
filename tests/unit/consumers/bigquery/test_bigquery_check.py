"""Findings about a project, its datasets and its tables, over answers as BigQuery's own API gives them."""

import json
from collections.abc import Mapping
from math import ceil
from typing import Any, cast

import pytest
from google.api_core.exceptions import Forbidden, NotFound
from google.cloud.bigquery import Client, Dataset, Table
from google.cloud.bigquery.table import TableListItem

from wrackline.consumers.contract.plan import Applied, TableMode, plan_merge
from wrackline.consumers.staged.places import StagedLayout, StagedRelation
from wrackline.consumers.staged.shape import StagedShape, first_shape
from wrackline.consumers.targets.bigquery.check import KEY_BYTES, LARGE, CheckScope, find_problems
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

PLACE = StagedLayout("{schema}", "wrackline", RELATIONS).place(TableId("db", "public", "orders"))
VIEWS = {"dataset": {"dataset": {"projectId": "shop", "datasetId": "public"}, "targetTypes": ["VIEWS"]}}
SHOP = {"projectId": "shop"}
GOOD = {"location": "EU", "access": [VIEWS]}
SMALL = {"numBytes": "12"}


class Answers:
    """A client that knows one answer for each thing; None is a 404, an empty one a 403."""

    project = "shop"
    location = "EU"

    def __init__(
        self, dataset: Mapping[str, Any] | None, table: Mapping[str, Any] | None, *, jobs: bool = True
    ) -> None:
        self._dataset, self._table, self._jobs = dataset, table, jobs
        self.priced: list[str] = []
        self.there: dict[StagedRelation, str] = {}

    def query(self, text: str, *, job_config: Any, **_: object) -> None:
        if not job_config.dry_run:
            self.priced.append(text)
        if not self._jobs:
            raise Forbidden("no")  # type: ignore[no-untyped-call]

    def get_dataset(self, name: str, **_: object) -> Dataset:
        reference = {"projectId": "shop", "datasetId": name}
        return Dataset.from_api_repr({"datasetReference": reference, **answer(self._dataset)})

    def list_tables(self, name: str, **_: object) -> list[TableListItem]:
        return [
            TableListItem({"tableReference": {**SHOP, "datasetId": name, "tableId": table}, "type": kind})  # type: ignore[no-untyped-call]
            for (schema, table), kind in self.there.items()
            if schema == name
        ]

    def get_table(self, name: str, **_: object) -> Table:
        project, dataset, table = name.split(".")
        reference = {"projectId": project, "datasetId": dataset, "tableId": table}
        return Table.from_api_repr({"tableReference": reference, **answer(self._table)})


def answer(kept: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if kept is None:
        raise NotFound("not there")  # type: ignore[no-untyped-call]
    if not kept:
        raise Forbidden("no")  # type: ignore[no-untyped-call]
    return kept


def found(
    client: Answers, shape: StagedShape | None = None, batch_s: float = 60, upkeep_s: float = 0
) -> list[tuple[str, str, str]]:
    scope = CheckScope([PLACE], lambda _: shape, batch_s, upkeep_s)
    problems = list(find_problems(cast("Client", client), scope))
    assert client.priced == []
    return [(one.id, f"{one.description}; {one.impact}", one.suggestion) for one in problems]


def shape_of(*key: str, mode: TableMode = TableMode.UPSERT) -> StagedShape:
    kind = KeyKind.PRIMARY if key else KeyKind.NONE
    columns = (
        Column("id", 1, ColumnType(Kind.INT64, "bigint")),
        Column("code", 2, ColumnType(Kind.STRING, "text")),
    )
    table = TableSchema(TableId("db", "public", "orders"), columns, key, kind)
    return first_shape(plan_merge(table, DIALECT.identifiers, Applied(), mode=mode), DIALECT)


@pytest.mark.parametrize(("dataset", "table"), [(None, None), (GOOD, None), (GOOD, SMALL), (GOOD, {})])
def test_nothing_is_found_where_nothing_is_wrong(
    dataset: Mapping[str, Any] | None, table: Mapping[str, Any] | None
) -> None:
    assert found(Answers(dataset, table)) == []


def test_a_missing_right_is_named_with_the_command_that_gives_it() -> None:
    rules = found(Answers({}, {}, jobs=False))
    assert [rule for rule, _, _ in rules] == [
        "bigquery.no_jobs",
        "bigquery.no_dataset_right",
        "bigquery.no_dataset_right",
    ]
    fixes = [fix for _, _, fix in rules]
    assert "gcloud projects add-iam-policy-binding shop" in fixes[0]
    assert "GRANT `roles/bigquery.dataEditor` ON SCHEMA `shop.wrackline`" in fixes[1]


def test_a_dataset_of_another_location_is_found_before_a_job_is() -> None:
    assert [rule for rule, _, _ in found(Answers({**GOOD, "location": "us-east1"}, None))] == [
        "bigquery.elsewhere"
    ] * 2
    assert found(Answers({**GOOD, "location": "eu"}, None)) == []


def test_a_dataset_that_removes_its_tables_is_found() -> None:
    rules = found(Answers({**GOOD, "defaultTableExpirationMs": str(60 * 86_400_000)}, None))
    assert [(rule, "60.0 days" in text) for rule, text, _ in rules] == [("bigquery.expires", True)] * 2


def test_views_that_may_not_read_their_tables_are_found() -> None:
    ((rule, _, fix),) = found(Answers({"location": "EU"}, None))
    assert rule == "bigquery.not_authorized"
    assert json.loads(fix.split("+= ")[1].split("' >")[0]) == [VIEWS]
    assert "shop:wrackline" in fix


def test_views_are_authorized_after_the_account_gets_the_right_that_it_then_needs() -> None:
    ((_, _, fix),) = found(Answers({"location": "EU"}, None))
    assert fix.startswith("GRANT `roles/bigquery.dataOwner` ON SCHEMA `shop.wrackline` TO ")


def test_a_large_table_that_is_not_cut_is_found_with_its_price() -> None:
    assert found(Answers(GOOD, {"numBytes": str(LARGE - 1)})) == []
    ((rule, text, fix),) = found(Answers(GOOD, {"numBytes": str(2**40)}), shape_of("id"))
    assert rule == "bigquery.reads_all"
    assert [
        one for one in ("1024 GiB", "6.25 US dollars", "9000.00 a day", "60 seconds") if one not in text
    ] == []
    assert "`shop.wrackline.public__orders`" in fix


@pytest.mark.parametrize("shape", [shape_of("id", mode=TableMode.APPEND), shape_of()])
def test_a_table_that_only_gets_rows_costs_what_its_keys_cost(shape: StagedShape) -> None:
    rows = ceil(LARGE / KEY_BYTES)
    assert found(Answers(GOOD, {"numBytes": str(2**50), "numRows": str(rows - 1)}), shape) == []
    ((rule, text, _),) = found(Answers(GOOD, {"numBytes": str(2**50), "numRows": str(rows)}), shape)
    assert (rule, "reads 10 GiB" in text) == ("bigquery.key_cuts_nothing", True)


@pytest.mark.parametrize(
    "shape",
    [shape_of("code"), shape_of(), shape_of("id", mode=TableMode.APPEND), None],
    ids=["text", "no key", "events", "unknown"],
)
def test_nobody_is_told_to_read_a_table_again_in_vain(shape: StagedShape | None) -> None:
    """No setting partitions it: its key is a text, or it has none, or rows are only added."""
    large = {"numBytes": str(2**40), "numRows": str(2**40)}
    ((rule, text, fix),) = found(Answers(GOOD, large), shape)
    assert (rule, "US dollars" in text) == ("bigquery.key_cuts_nothing", True)
    assert "DROP" not in fix
    assert "consume.trigger.interval.ms" in fix


BY_MONTH = {"timePartitioning": {"type": "MONTH", "field": "day"}}
BY_ID = {"rangePartitioning": {"field": "id", "range": {"start": "0", "end": "9", "interval": "1"}}}


@pytest.mark.parametrize("cut", [BY_MONTH, BY_ID])
def test_a_large_table_that_is_cut_costs_what_its_parts_cost(cut: Mapping[str, Any]) -> None:
    assert found(Answers(GOOD, {"numBytes": str(2**40), **cut})) == []
    many, few = ({"numBytes": str(2**40), "numPartitions": parts, **cut} for parts in ("103", "102"))
    assert found(Answers(GOOD, many)) == []
    ((rule, text, fix),) = found(Answers(GOOD, few))
    assert (rule, "102 partitions" in text, "target.partition.width" in fix) == (
        "bigquery.large_parts",
        True,
        True,
    )


def test_a_table_that_is_cut_by_what_is_no_key_any_more_is_read_whole() -> None:
    large = {"numBytes": str(2**40), **BY_ID}
    assert found(Answers(GOOD, large), shape_of("id")) == []
    assert [rule for rule, _, _ in found(Answers(GOOD, large), shape_of("code"))] == [
        "bigquery.key_cuts_nothing"
    ]


def test_more_loads_than_a_project_may_have_are_found() -> None:
    assert "bigquery.many_loads" not in [rule for rule, _, _ in found(Answers(GOOD, None), batch_s=0.864)]
    (rule, text, fix), _ = found(Answers(GOOD, None), batch_s=0.5)
    assert (rule, "172800 loads" in text, "= 1000" in fix) == ("bigquery.many_loads", True, True)


def test_an_interval_has_its_price() -> None:
    assert found(Answers(GOOD, None), batch_s=21) == []
    ((rule, text, _),) = found(Answers(GOOD, None), batch_s=10)
    assert (rule, "cost 2.06 US dollars a day" in text) == ("bigquery.pace", True)


@pytest.mark.parametrize(("upkeep_s", "gigabytes"), [(86_400, 164), (3_600, 7)])
def test_an_upkeep_has_its_price(upkeep_s: float, gigabytes: int) -> None:
    def rules(size: int, shape: StagedShape | None, seconds: float = upkeep_s) -> list[str]:
        table = {"numBytes": str(size * 2**30), "numPartitions": "999", **BY_ID}
        return [rule for rule, _, _ in found(Answers(GOOD, table), shape, upkeep_s=seconds)]

    assert rules(gigabytes - 1, shape_of("id")) == []
    assert rules(gigabytes, shape_of("id")) == ["bigquery.upkeep"]
    for quiet in (shape_of("id", mode=TableMode.APPEND), shape_of("id", mode=TableMode.HISTORY), None):
        assert rules(gigabytes, quiet) == [], "it deletes nothing"
    assert rules(gigabytes, shape_of("id"), 0) == [], "it is never tended"


def test_a_name_that_something_else_has_is_found_by_one_question_for_a_dataset() -> None:
    client = Answers(GOOD, None)
    client.there = {PLACE.view: "EXTERNAL", StagedRelation("public", "other"): "TABLE"}
    ((rule, text, fix),) = found(client)
    assert (rule, "`shop.public.orders` is there and is not ours: EXTERNAL TABLE" in text) == (
        "bigquery.not_our_place",
        True,
    )
    assert fix.endswith("DROP EXTERNAL TABLE `shop.public.orders`")
    client.there |= {PLACE.table: "TABLE", PLACE.state: "TABLE"}
    assert [rule for rule, _, _ in found(client)] == ["bigquery.not_our_place"], "a view of ours is a view"
    client.there[PLACE.view] = "VIEW"
    assert found(client) == []
    del client.there[PLACE.state]
    assert [rule for rule, _, _ in found(client)] == ["bigquery.not_our_place"] * 2


def test_a_dataset_whose_tables_may_not_be_listed_has_the_grant() -> None:
    client = Answers(GOOD, None)
    client.list_tables = lambda *_, **__: answer({})  # type: ignore[method-assign, assignment]
    assert [rule for rule, _, _ in found(client)] == ["bigquery.no_dataset_right"]
