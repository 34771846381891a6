"""Takes the pictures of the console in `docs/images` again, over boards that were made by hand.

.venv/bin/python -m tests.unit.console.pictures [--dark] [folder]
"""

import shutil
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from selenium import webdriver

from tests.unit.console.made import MadeCrew, crowd, database, past, served
from tests.unit.console.test_make import SOURCE_FIELDS
from tests.unit.console.visitor import Visitor
from wrackline.control.runtime.board.board_summary import PipelineHistory
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.worker.pipeline_views import BoardView
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.producers.sources.postgres.log.continuity import SLOT_LOST
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.versions import OURS

IMAGES: Final = Path(__file__).parents[3] / "docs/images"
PICTURES: Final = {  # the address and the height of each
    "console-pipelines": ("/", 560),
    "console-pipeline": ("/p/shop", 820),
    "console-make": ("/draft/shop2/tables", 617),
    "console-rows": ("/p/shop/snapshot", 760),
    "console-log": ("/p/archive/positions", 770),
    "console-rewind": (f"/p/warehouse/rewind?to={past()[60].time[:19]}", 820),
    "console-events": ("/p/shop/events?table=shop.public.orders&at=0:102", 820),
    "console-log-lines": ("/p/shop/logs?live=on", 757),
    "console-letters": ("/p/shop/letters?table=shop.public.orders", 560),
    "console-settings": ("/p/shop/settings", 1000),
}
TABLES: Final = (
    *(("orders", "YES"), ("order_lines", "PARTIAL"), ("customers", "YES"), ("invoices", "YES")),
    *(("payments", "NO"), ("products", "YES"), ("stock_levels", "PARTIAL"), ("suppliers", "YES")),
)


class PicturedCrew(MadeCrew):
    """Connectors of a group, with settings as somebody may have them; one was stopped."""

    def __init__(self, standings: Mapping[str, ConnectorState]) -> None:
        stopped = ConnectorState(TaskState.STOPPED, worker=self.worker)
        super().__init__({**standings, "warehouse": replace(stopped, target=stopped)})
        self.group = [GroupMember(self.worker, 32, now_ms() - 7_200_000, OURS, leads=True)]

    def config(self, name: str) -> Mapping[str, str]:
        return {
            "name": name, "topic.prefix": f"{name}1", "table.include.list": "public.orders,public.items_.*",
            "database.hostname": "db-host-1", "database.user": "wrackline", "database.dbname": "shop",
            "schema.registry.url": "http://registry:8081", "snapshot.max.threads": "4",
            "target.kind": "iceberg", "target.warehouse": "s3://lake/warehouse",
        }  # fmt: skip


def main(folder: Path, theme: str) -> None:
    """Take them."""
    folder.mkdir(parents=True, exist_ok=True)  # no driver reports that it is missing
    crew, views = crowd()
    pictured = PicturedCrew(crew.standings)
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        with served(pictured, views) as door:
            _prepare(Visitor(door.port), pictured)
            console = f"http://127.0.0.1:{door.port}/console"
            driver.get(console + "/")
            driver.add_cookie({"name": "wrackline_theme", "value": theme, "path": "/console"})
            for name, (path, height) in PICTURES.items():
                views.boards = boards()
                _take(driver, console + path, height, folder / f"{name}.png")
    finally:
        driver.quit()


def _take(driver: Any, address: str, height: int, file: Path) -> None:
    size = {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(address)
    driver.save_screenshot(str(file))


def boards() -> dict[str, BoardView]:
    """Return the boards of this moment: later on, halves that nobody hears of would be silent."""
    made = crowd()[1].boards
    _lose_a_slot(made)
    for name, seconds in (("billing", 2_400), ("warehouse", 1_260)):  # nothing is merged meanwhile
        tables = made[name].halves[Half.TARGET].tables
        tables.update({table: {**one, "behind": 5_200, "behind_s": seconds} for table, one in tables.items()})
        made[name] = made[name]._replace(history=PipelineHistory())
    return made


def _lose_a_slot(made: dict[str, BoardView]) -> None:
    """Let the pipeline that fails have an error as servers make it."""
    fix = "raise max_slot_wal_keep_size"
    lost = SLOT_LOST(slot="wrackline_billing", reason="wal_removed", position="6F/1A2B3C4D", fix=fix)
    board = made["billing"]
    source = board.halves[Half.SOURCE]
    log = database(9_000_000_000, status="lost")
    source.report = {**source.report, "error": lost.document(), "databases": {"billing": log}}
    made["billing"] = board._replace(followed=board.followed._replace(kind="postgres"))


def _prepare(visitor: Visitor, crew: MadeCrew) -> None:
    """Begin a draft, and have a letter replayed."""
    assert crew.answers is not None
    listed = crew.answers.answers["list_tables"]
    crew.answers.answers["list_tables"] = [
        {
            **deepcopy(listed[0]), "name": name, "table": name, "support": support, "numColumns": 4 + number,
            "rows": 7_000 * 10 ** (number % 5), "bytes": 8_192_000 * 10 ** (number % 5),
            "selected": number == 0,
        }
        for number, (name, support) in enumerate(TABLES)
    ]  # fmt: skip
    visitor.ask("POST", "/console/new", {"name": "shop2", "kind": "postgres"})
    step = "/console/draft/shop2/step/source"
    visitor.press(step, step, **SOURCE_FIELDS)
    tables = "/console/draft/shop2/tables"
    visitor.press(tables, tables, patterns="public.orders")
    for verb in ("look", "replay"):
        visitor.ask("POST", f"/console/p/shop/letters/do/{verb}", {"table": "shop.public.orders"})


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--dark"]
    main(Path(given[0]) if given else IMAGES, "dark" if "--dark" in sys.argv else "light")
