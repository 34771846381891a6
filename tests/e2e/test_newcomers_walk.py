"""A newcomer at a browser makes a pipeline, mends what the assessment finds, and sees the rows arrive.

The servers, the worker, Spark and the browser are real.  Nothing is done but what the pages say.
"""

import json
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.servers import Database
from tests.integration.consuming.world import SPARK_PATIENCE
from tests.integration.group.world import GroupWorld
from tests.integration.running.world import CANARY, wait_until
from tests.unit.console.browser_hands import press, typed, wait_for
from tests.unit.console.visitor import users
from tests.unit.control.rest_users import PASSWORD
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytestmark = [
    pytest.mark.full,
    pytest.mark.servers,
    pytest.mark.spark,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")),
        reason="no chromium: apt-get install chromium chromium-driver",
    ),
]
MOST_MENDS = 8
STILL = "The servers are still being asked."  # a page that says so asks again by itself


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[GroupWorld]:
    made = GroupWorld(tmp_path, database, kafka, registry, topic_prefix)
    yield made
    made.close()


@pytest.fixture
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield opened
    opened.quit()


def words(driver: Any) -> str:
    return str(driver.find_element("tag name", "main").text)


def statements(driver: Any) -> list[str]:
    """The SQL that the page's errors propose for a server of one's own."""
    found = driver.find_elements("css selector", ".trouble.bad .hint code")
    texts = [re.sub(r"^[^:]*: ", "", one.text).partition("; on Amazon RDS")[0] for one in found]
    return [text for text in texts if text.startswith(("ALTER", "CREATE", "GRANT"))]


def test_a_newcomer_makes_a_pipeline_and_sees_the_rows(
    world: GroupWorld, driver: Any, tmp_path: Path
) -> None:
    role, name = f"walker_{world.prefix}", f"{world.prefix}walk"
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(CANARY))
    world.sql.execute(made)
    world.sql.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    world.sql.execute("INSERT INTO orders SELECT n, 'old' FROM generate_series(1, 3) n")
    try:
        walk(world, driver, tmp_path, role, name)
    finally:
        world.workers[-1].stop()
        for slot in world.sql.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            world.sql.execute("SELECT pg_drop_replication_slot(%s)", slot)
        for statement in ("DROP OWNED BY {}", "DROP ROLE {}"):
            world.sql.execute(sql.SQL(statement).format(sql.Identifier(role)))


def walk(world: GroupWorld, driver: Any, folder: Path, role: str, name: str) -> None:
    worker = world.start("--rest-users", str(users(folder, ann='role = "admin"\ndata = true')))
    driver.get(f"{worker.url}/console/")
    typed(driver, {"name": "ann", "password": PASSWORD})
    press(driver, "Log in")
    driver.find_element("link text", "Make a pipeline").click()
    driver.find_element("css selector", "input[value=postgres]").click()
    typed(driver, {"name": name})
    press(driver, "Begin")

    typed(
        driver,
        {
            "set:database.hostname": "127.0.0.1",
            "set:database.port": str(world.database.server.port),
            "set:database.user": role,
            "set:database.password": CANARY,
            "set:database.dbname": world.database.name,
            "set:kafka.bootstrap.servers": world.kafka.bootstrap,
            "set:schema.registry.url": world.registry.url,
            "others": "database.sslmode = disable",
        },
    )
    press(driver, "Save and continue")
    assert "the draft has a secret in database.password" in words(driver)
    typed(driver, {"set:database.password": "${env:WRACKLINE_DB_PASSWORD}"})
    press(driver, "Save and continue")

    driver.find_element("name", "pick:public/orders").click()
    press(driver, "Save and continue")
    driver.find_element("css selector", "input[value=iceberg]").click()
    press(driver, "Save and continue")
    typed(driver, {"set:target.warehouse": str(folder / "warehouse")})
    press(driver, "Save and continue")
    mended = mend(world, driver)
    assert any("REPLICATION" in statement for statement in mended), mended

    for box in driver.find_elements("css selector", "input[name^='accept:']"):
        if not box.is_selected():
            box.click()
    press(driver, "Make the pipeline and start it")
    assert driver.current_url == f"{worker.url}/console/p/{name}"
    key = f"{world.database.name}.public.orders"
    wait_until(lambda: merged(worker.url, name, key) == 0, patience=SPARK_PATIENCE)
    world.sql.execute("INSERT INTO orders VALUES (4, 'new')")
    driver.get(f"{worker.url}/console/p/{name}/events?table={key}")
    wait_until(lambda: bool(driver.refresh()) or "new" in words(driver))

    driver.get(f"{worker.url}/console/p/{name}")
    press(driver, "Pause")
    wait_until(lambda: bool(driver.refresh()) or "paused" in words(driver))
    press(driver, "Log out")
    driver.get(f"{worker.url}/console/p/{name}")
    assert "/console/login" in driver.current_url
    assert CANARY not in worker.text
    severe = [one["message"] for one in driver.get_log("browser") if one["level"] == "SEVERE"]
    assert [one for one in severe if "400" not in one] == []


def mend(world: GroupWorld, driver: Any) -> list[str]:
    """Assess, run the statements that the page proposes as the database's owner, and assess again."""
    run: list[str] = []
    for _ in range(MOST_MENDS):
        press(driver, "Assess again" if "Assess again" in words(driver) else "Assess")
        wait_for(driver, lambda one: STILL not in words(one), SPARK_PATIENCE)
        asked = statements(driver)
        if not asked:
            return run
        for statement in asked:
            with psycopg.connect(world.database.dsn, autocommit=True) as owner:
                owner.execute(statement)
            run.append(statement)
    raise AssertionError(words(driver))


def merged(url: str, name: str, table: str) -> int | None:
    """How much of a table's topic is not merged; None: the target does not know the table."""
    login = b64encode(f"ann:{PASSWORD}".encode()).decode()
    asked = Request(f"{url}/connectors/{name}/tables", headers={"Authorization": f"Basic {login}"})  # noqa: S310 - ours
    with urlopen(asked, timeout=60) as answer:  # noqa: S310 - ours
        found = json.loads(answer.read())["tables"].get(table, {})
    return found.get("behind") if found.get("seq") else None
