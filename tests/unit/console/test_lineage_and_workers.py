"""The pages of lineage and of workers."""

from dataclasses import replace

from tests.unit.console.made import HOSTILE, RUNS, MadeCrew, MadeViews, busy, crowd, empty, hostile, served
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.draw.flow_map import FlowNames, flow_map
from wrackline.control.console.lineage.lineage_page import LineageSource, lineage_page
from wrackline.control.console.workers.workers_page import workers_page
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState, state_of_tasks
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.producers.connect.restart_policy import TaskState

NOW = 1_800_000_000_000


def test_lineage_shows_each_table_s_way_in_a_drawing_and_as_a_table() -> None:
    with served(*crowd()) as door:
        html = asked(door, "GET", "/lineage?q=billing")[2]
        text = Page(html).text
        assert "billing.public.invoices" in text
        assert "billing.billing.public.invoices" in text, "its topic"
        assert "delta: billing.public.invoices" in text, "its copy"
        assert html.count("<rect ") == 3
        assert html.count('<line class="bad"') == 2
        of_one = asked(door, "GET", "/p/shop/lineage")[2]
        assert of_one.count('<th scope="row"><a') == 24
        assert "No table, topic or copy has such a name" in asked(door, "GET", "/lineage?q=zzz")[2]
        assert "No table has been reported yet" in asked(door, "GET", "/p/new-one/lineage")[2]
        assert asked(door, "GET", "/p/none/lineage")[0] == 404


def test_many_tables_come_page_by_page_and_the_search_stays() -> None:
    with served(MadeCrew({"big": RUNS}), MadeViews({"big": busy(130)})) as door:
        html = asked(door, "GET", "/p/big/lineage?q=items&page=2")[2]
        assert "page 2 of 3, 129 tables" in Page(html).text
        assert "?q=items&amp;page=3" in html
        assert asked(door, "GET", "/p/big/lineage?page=99")[2].count('<th scope="row"><a') == 30


def test_a_pipeline_without_a_target_ends_in_kafka() -> None:
    board = busy(2)
    one = LineageSource("shop", "postgres", None, "srv", board.halves)
    flow = lineage_page([one], "", 1).flows[0]
    assert (flow.topic, flow.copy, flow.target) == ("srv.shop.public.items_001", "", None)
    drawn = flow_map([FlowNames(("a", "t", ""), ("good", ""))])
    assert (len(drawn.boxes), len(drawn.lines)) == (2, 1)
    assert not flow_map([]).boxes


def test_columns_that_are_masked_or_left_out_are_named() -> None:
    one = LineageSource("shop", "postgres", "iceberg", "srv", empty().halves)
    settings = {"column.exclude.list": "public.users.note", "name": "shop"}
    assert lineage_page([one], "", 1, "shop", settings).rules == [
        ("column.exclude.list", "public.users.note")
    ]


def test_a_long_name_keeps_its_end() -> None:
    box = flow_map([FlowNames(("x" * 80 + ".orders", "t", ""), ("good", ""))]).boxes[0]
    assert (box.text[0], box.text.endswith(".orders"), len(box.text)) == ("…", True, 46)


def test_a_worker_by_files_is_alone() -> None:
    with served(*crowd()) as door:
        text = Page(asked(door, "GET", "/workers")[2]).text
        assert "those of the files that this worker was started with" in text
        assert "db-host-1:8083 this worker" in text
        assert "coordinator" not in text
        assert "Without a worker" not in text


def test_a_group_shows_who_coordinates_what_runs_where_and_what_has_no_worker() -> None:
    crew, views = crowd()
    crew.group = [
        GroupMember("db-host-1:8083", 64, NOW, "1.0", leads=True),
        GroupMember("db-host-2:8083", 64, NOW, "1.1"),
    ]
    crew.standings["shop"] = ConnectorState(TaskState.RUNNING, worker="db-host-2:8083", target=RUNS)
    crew.standings["stock"] = ConnectorState(TaskState.STARTING)
    with served(crew, views) as door:
        text = Page(asked(door, "GET", "/workers")[2]).text
    assert "db-host-1:8083 ★ coordinator this worker version 1.0" in text
    assert "db-host-2:8083 version 1.1" in text
    assert "different versions: 1.0, 1.1" in text
    assert "Without a worker now stock source" in text
    page = workers_page(crew.group, crew.standings, "db-host-1:8083", NOW)
    assert [(task.pipeline, task.half) for task in page.workers[1].tasks] == [("shop", "source")]


def test_a_worker_of_many_tasks_names_some_and_counts_all() -> None:
    standings = {f"p{number}": replace(RUNS, worker="w") for number in range(200)}
    [row] = workers_page([GroupMember("w", 128, NOW, "1")], standings, "w", NOW).workers
    assert (len(row.tasks), row.more, row.counts[0][1]) == (50, 150, 200)


def test_each_task_of_a_source_half_is_on_its_own_worker() -> None:
    sources = [replace(RUNS, worker=one) for one in ("a", "b", "a")]
    standings = {"shop": state_of_tasks(sources, replace(RUNS, worker="a"))}
    page = workers_page([GroupMember(one, 64, NOW, "1") for one in ("a", "b")], standings, "a", NOW)
    assert [[task.half for task in row.tasks] for row in page.workers] == [
        ["source, task 0", "source, task 2", "target"], ["source, task 1"],
    ]  # fmt: skip


def test_names_of_others_are_text() -> None:
    views, state = MadeViews({HOSTILE: hostile()}), ConnectorState(TaskState.RUNNING, worker=HOSTILE)
    crew = MadeCrew({HOSTILE: state})
    crew.group = [GroupMember(HOSTILE, 1, NOW, HOSTILE)]
    with served(crew, views) as door:
        for path in ("/workers", "/lineage", "/lineage?q=%3Cimg%20src=x%3E"):
            status, _, html = asked(door, "GET", path)
            assert status == 200
            assert not [one for one in Page(html).elements if one[1].get("src") == "x"], path
