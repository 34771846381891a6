"""Findings about a project, its datasets and its tables, over answers as BigQuery's own API gives them."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from google.api_core.exceptions import Forbidden, NotFound
from google.cloud.bigquery import Client, Dataset, Table

from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.targets.bigquery.check import LARGE, find_problems
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.tables.table import TableId

PLACE = StagedLayout("{schema}", "wrackline", RELATIONS).place(TableId("db", "public", "orders"))
GOOD = {"location": "EU"}
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

    def query(self, text: str, *, job_config: Any, **_: object) -> None:
        if not job_config.dry_run:
            self.priced.append(text)
        if not self._jobs:
            raise Forbidden("no")  # type: ignore[no-untyped-call]

    def get_dataset(self, name: str, **_: object) -> Dataset:
        reference = {"projectId": "shop", "datasetId": name}
        return Dataset.from_api_repr({"datasetReference": reference, **answer(self._dataset)})

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


def found(client: Answers) -> list[tuple[str, str, str]]:
    problems = list(find_problems(cast("Client", client), [PLACE]))
    assert client.priced == []
    return [(one.id, one.description, one.suggestion) for one in problems]


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
    assert all("gcloud projects add-iam-policy-binding shop" in fix for _, _, fix in rules)


def test_a_dataset_of_another_location_is_found_before_a_job_is() -> None:
    assert [rule for rule, _, _ in found(Answers({"location": "us-east1"}, None))] == [
        "bigquery.elsewhere"
    ] * 2
    assert found(Answers({"location": "eu"}, None)) == []


def test_a_dataset_that_removes_its_tables_is_found() -> None:
    rules = found(Answers({**GOOD, "defaultTableExpirationMs": str(60 * 86_400_000)}, None))
    assert [(rule, "60.0 days" in text) for rule, text, _ in rules] == [("bigquery.expires", True)] * 2


def test_a_large_table_that_is_not_cut_is_found_with_its_price() -> None:
    assert found(Answers(GOOD, {"numBytes": str(LARGE - 1)})) == []
    ((rule, text, fix),) = found(Answers(GOOD, {"numBytes": str(2**40)}))
    assert (rule, "1024 GiB" in text) == ("bigquery.reads_all", True)
    assert "`shop.wrackline.public__orders`" in fix


@pytest.mark.parametrize(
    "cut",
    [
        {"timePartitioning": {"type": "MONTH", "field": "day"}},
        {"rangePartitioning": {"field": "id", "range": {"start": "0", "end": "9", "interval": "1"}}},
    ],
)
def test_a_large_table_that_is_cut_costs_what_its_parts_cost(cut: Mapping[str, Any]) -> None:
    assert found(Answers(GOOD, {"numBytes": str(2**40), **cut})) == []
