"""CDAP's stages and connections as settings and back, and secrets where references belong."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.control.plane.column_support import LOSSES, TARGET_TYPES, column_in_target
from wrackline.control.plane.draft_forms import DraftForms, storable_config
from wrackline.control.plane.property_table import PROPERTIES
from wrackline.control.plane.stages_out import write_stages
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import MASK
from wrackline.schemas.tables.types import ColumnType, Kind

CANARY = "c4n4ry-hunter2"


def stage(side: str, kind: str, **properties: object) -> dict[str, Any]:
    of = {"source": "cdcSource", "target": "cdcTarget"}[side]
    return {"name": side, "plugin": {"name": kind, "type": of, "properties": properties}}


EDGE = [{"from": "source", "to": "target"}]
PRINTED_DRAFT = {  # as the document prints it
    "stages": [
        {
            "name": "source",
            "plugin": {
                "name": "oracle",
                "type": "cdcSource",
                "properties": {
                    "host": "[hostname]",
                    "port": "1433",
                    "user": "repluser",
                    "password": "${secure(kms-key)}",
                },
            },
        }
    ]
}
PRINTED_PIPELINE = {  # the other spelling, with artifacts; its target BigQuery is not there
    "resources": {"vcores": 4, "memoryMB": 4096},
    "stages": [
        {
            "name": "my-oracle-db",
            "plugin": {
                "name": "oracle",
                "type": "cdc-origin",
                "artifact": {"scope": "SYSTEM", "name": "cdc-oracle", "version": "0.1.0"},
                "properties": {"user": "myuser", "password": "${secure(xyz)}"},
            },
        },
        {
            "name": "my-bq-dataset",
            "plugin": {"name": "bigquery", "type": "cdc-destination", "artifact": {}, "properties": {}},
        },
    ],
    "connections": [{"from": "my-oracle-db", "to": "my-bq-dataset"}],
}
ALL: Mapping[str, Any] = {
    "name": "shop",
    "resources": {"vcores": 4, "memoryMB": 2048},
    "retries": {"maxDurationSeconds": 600, "delaySeconds": 5},
    "parallelism": {"numInstances": 3},
    "dmlBlacklist": ["DELETE"],
    "stages": [
        stage(
            "source",
            "postgres",
            host="db",
            port="5432",
            user="repl",
            password="${secure(shop-db)}",
            database="shop",
            sslMode="require",
            replicateExistingData=False,
        ),
        stage("target", "iceberg", loadInterval=5, softDeletes=True),
    ],
    "connections": EDGE,
    "tables": [
        {"database": "shop", "schema": "public", "table": "orders", "columns": [{"name": "id"}]},
        {"database": "shop", "schema": "public", "table": "a.b"},
    ],
    "tableTransformations": [
        {
            "tableName": "public.orders",
            "columnTransformations": [
                {"columnName": "note", "directive": "set-type :note string"},
                {"columnName": "card", "directive": "mask-number :card xxxx"},
            ],
        }
    ],
    "settings": {"target.warehouse": "s3://bucket/folder", "topic.prefix": "shop1"},
}
FLAT = {
    "name": "shop",
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "db",
    "database.port": "5432",
    "database.user": "repl",
    "database.password": "${secure(shop-db)}",
    "database.dbname": "shop",
    "database.sslmode": "require",
    "snapshot.mode": "no_data",
    "snapshot.max.threads": "3",
    "skipped.operations": "d",
    "table.include.list": "public.orders,public.a[.]b",
    "column.include.list": "public.orders.id,public.a[.]b..*",
    "column.as.text": "public.orders.note",
    "column.mask.with.4.chars": "public.orders.card",
    "target.kind": "iceberg",
    "target.deletes": "soft",
    "target.warehouse": "s3://bucket/folder",
    "consume.trigger.interval.ms": "5000",
    "spark.master": "local[4]",
    "spark.driver.memory": "2048m",
    "errors.retry.timeout": "600000",
    "retriable.restart.connector.wait.ms": "5000",
}


def ignored(config: Mapping[str, Any]) -> list[str]:
    return [one.place for one in DraftForms.of(config, "shop").ignored]


def test_each_honoured_property_is_a_setting_and_comes_back() -> None:
    forms = DraftForms.of(ALL, "draft")
    assert (dict(forms.settings), forms.ignored) == (FLAT, ())
    assert write_stages(FLAT) == ALL
    assert DraftForms.of(FLAT, "draft").form("stages") == ALL


def test_what_the_document_prints_is_taken_and_what_is_not_there_is_named() -> None:
    forms = DraftForms.of(PRINTED_DRAFT, "xyz")
    assert forms.settings["connector.class"] == "oracle"
    assert forms.settings["database.password"] == "${secure(kms-key)}"
    assert (forms.ignored, forms.form("stages")) == ((), PRINTED_DRAFT)
    whole = DraftForms.of(PRINTED_PIPELINE, "xyz")
    assert {"spark.master": "local[4]", "spark.driver.memory": "4096m"}.items() <= whole.settings.items()
    assert [one.place for one in whole.ignored] == ["source.artifact", "target.artifact"]
    assert whole.findings == [], "to leave an artifact out loses nothing"


def test_a_database_of_sql_server_is_a_property_and_several_are_a_setting() -> None:
    one = {
        "name": "shop",
        "stages": [stage("source", "sqlserver", database="Shop")],
        "tables": [{"database": "Shop", "schema": "dbo", "table": "orders"}],
    }
    forms = DraftForms.of(one, "shop")
    assert forms.settings.items() >= {"database.names": "Shop", "table.include.list": "dbo.orders"}.items()
    assert write_stages(forms.settings) == one
    bare = {**one, "tables": [{"database": "Shop", "table": "orders"}]}
    assert DraftForms.of(bare, "shop").settings == forms.settings
    back = write_stages({**forms.settings, "database.names": "Shop,Old"})
    assert back["settings"] == {"database.names": "Shop,Old"}
    assert back["stages"] == [stage("source", "sqlserver")]
    assert ignored({**one, "stages": [stage("source", "sqlserver", database="a,b")]}) == ["source.database"]


def test_a_property_without_effect_is_named_and_is_a_finding() -> None:
    config = {
        **ALL,
        "offsetBasePath": "/cdap/delta",
        "resources": {"vcores": "many"},
        "stages": [stage("source", "postgres", scan="fast"), stage("target", "iceberg", stagingBucket="b")],
        "tables": [{"table": "orders", "columns": [{"name": "id", "suppressWarning": True}]}],
        "tableTransformations": [
            {
                "tableName": "orders",
                "columnTransformations": [{"columnName": "a", "directive": "rename :a :b"}],
            }
        ],
    }
    forms = DraftForms.of(config, "shop")
    assert set(ignored(config)) == {
        "offsetBasePath",
        "resources.vcores",
        "source.scan",
        "target.stagingBucket",
        "tables.columns.suppressWarning",
        "tableTransformations.0.columnTransformations.0",
    }
    harmless = {one.place for one in forms.ignored if one.reason.harmless}
    assert harmless == {"offsetBasePath", "target.stagingBucket"}
    assert {one.id for one in forms.findings} == {"cdap.property_ignored"}
    assert len(forms.findings) == 4


def test_what_a_table_does_not_follow_is_a_setting_of_the_table() -> None:
    table = {"database": "shop", "schema": "public", "table": "orders"}
    lists = {"dmlBlacklist": ["DELETE"], "ddlBlacklist": ["ADD_COLUMN", "RENAME_TABLE"]}
    config = {**ALL, "ddlBlacklist": ["DROP_COLUMN", "DROP_TABLE"], "tables": [{**table, **lists}]}
    settings = DraftForms.of(config, "shop").settings
    assert {
        "target.schema.change.exclude": "DROP_COLUMN,DROP_TABLE",
        "skipped.operations.public.orders": "d",
        "target.schema.change.exclude.public.orders": "ADD_COLUMN,RENAME_TABLE",
    }.items() <= settings.items()
    assert write_stages(settings) == config
    assert ignored({**ALL, "ddlBlacklist": ["CREATE_TABLE"]}) == ["ddlBlacklist"]


def test_resources_are_not_honoured_where_spark_runs_elsewhere() -> None:
    config = {**ALL, "settings": {"spark.remote": "sc://spark:15002"}}
    assert ignored(config) == ["resources.vcores", "resources.memoryMB"]


@pytest.mark.parametrize(
    "config",
    [
        {"stages": [stage("source", "mysql"), stage("source", "postgres")]},
        {"stages": [stage("source", "mysql"), stage("target", "delta")], "connections": [*EDGE, *EDGE]},
        {"stages": [stage("source", "mysql")], "connections": [{"from": "target", "to": "source"}]},
        {"stages": {}},
        {"stages": [[]]},
        {"stages": [{"name": "a", "plugin": "x"}]},
        {"stages": [], "settings": {"a": {}}},
        {"database.port": {"a": 1}},
    ],
)
def test_what_is_no_line_from_one_source_to_one_target_is_refused(config: Mapping[str, Any]) -> None:
    with pytest.raises(WracklineError) as raised:
        DraftForms.of(config, "shop")
    assert raised.value.code in ("draft.not_a_draft", "rest.not_settings")


def test_a_runtime_argument_stops_the_draft() -> None:
    config = {"stages": [stage("source", "postgres", host="${db-host}")]}
    assert [one.id for one in DraftForms.of(config, "shop").findings] == ["cdap.runtime_argument"]


NAMES = st.text(st.sampled_from("abzAZ09_ -.$"), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name
)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "vcores": st.integers(1, 64),
    "memoryMB": st.integers(512, 9999),
    "maxDurationSeconds": st.integers(1, 10**6),
    "delaySeconds": st.integers(1, 10**4),
    "numInstances": st.integers(1, 64),
    "loadInterval": st.integers(1, 10**4),
    "replicateExistingData": st.booleans(),
    "softDeletes": st.booleans(),
    "dmlBlacklist": st.lists(
        st.sampled_from(["INSERT", "UPDATE", "DELETE"]), min_size=1, max_size=3, unique=True
    ),
    "port": st.integers(1, 65_535).map(str),
}
UNKNOWN_YET = ("requireManualDrop", "ddlBlacklist", "description")  # settings of other parts may come and go


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["postgres", "mysql", "mariadb", "sqlserver", "oracle"]))
    target = draw(st.sampled_from(["iceberg", "delta", "postgres"]))
    made: dict[str, Any] = {}
    sides: dict[str, dict[str, Any]] = {"source": {}, "target": {}}
    kinds = {"source": kind, "target": target}
    for one in PROPERTIES:
        here = not one.kinds or kinds.get(one.place[0]) in one.kinds
        if not here or one.place[-1] in UNKNOWN_YET or not draw(st.booleans()):
            continue
        value = draw(VALUES.get(one.place[-1], st.sampled_from(["a", "b-1", "x_y", "${env:X}"])))
        into = sides.get(one.place[0]) if len(one.place) > 1 else made
        (made.setdefault(one.place[0], {}) if into is None else into)[one.place[-1]] = value
    made.setdefault("name", "shop")
    tables = draw(st.lists(st.tuples(NAMES, NAMES), max_size=3, unique=True))
    chosen = [draw(st.none() | st.lists(NAMES, min_size=1, max_size=2, unique=True)) for _ in tables]
    own = {"database": sides["source"]["database"]} if "database" in sides["source"] else {}
    for (over, table), columns in zip(tables, chosen, strict=True):
        where = {"database": over} if kind in ("mysql", "mariadb") else {**own, "schema": over}
        of = {} if columns is None else {"columns": [{"name": name} for name in columns]}
        made.setdefault("tables", []).append({**where, "table": table, **of})
    return {
        **made,
        "stages": [stage(side, kinds[side], **sides[side]) for side in kinds],
        "connections": EDGE,
    }


@given(documents())
def test_stages_to_settings_and_back_is_the_identity_on_what_is_honoured(document: dict[str, Any]) -> None:
    forms = DraftForms.of(document, "shop")
    assert not forms.ignored
    back = write_stages(forms.settings)
    assert DraftForms.of(back, "shop").settings == forms.settings
    if "${" not in str(document.get("name")):
        assert back == document


OTHERS = sorted(set(FLAT) - {"connector.class", "target.kind", "name"})


@given(st.dictionaries(st.sampled_from(OTHERS), st.text(max_size=12) | st.sampled_from([*FLAT.values()])))
def test_settings_to_stages_and_back_loses_nothing(settings: dict[str, str]) -> None:
    flat = {"connector.class": "postgres", "topic.prefix": "shop", **settings, "name": "shop"}
    assert DraftForms.of(write_stages(flat), "shop").settings == flat


TYPED: list[Mapping[str, Any]] = [
    {"database.password": CANARY},
    {"connector.class": "postgres", "database.password": CANARY},
    {"databse.pasword": CANARY},
    {"target.kind": "iceberg", "target.warehouse": f"s3://u:{CANARY}@bucket"},
    {"spark.hadoop.fs.s3a.secret.key": CANARY},
    {"kafka.sasl.password": f"{CANARY}${{env:WRACKLINE_X}}"},
    {"stages": [stage("source", "postgres", password=CANARY)]},
    {"stages": [stage("target", "bigquery", serviceAccountKey={"private_key": CANARY})]},
    {"stages": [stage("source", "mysql", passwords=[CANARY])]},
    {"stages": [stage("source", "mysql", password={"value": [{"text": CANARY}]})]},
    {"stages": [stage("source", "mysql", arguments=[{"key": "password", "value": CANARY}])]},
    {"stages": [stage("source", "mysql", passphrase=CANARY)]},
    {"kafka.ssl.keystore.key": CANARY},
    {"spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net": CANARY},
    {"database.password": f"{CANARY}:${{env:WRACKLINE_X}}"},
    {"database.password": f"${{env:{CANARY}}}"},
    {"stages": [], "settings": {"kafka.sasl.password": CANARY}},
    {"stages": [], "labels": {"jdbc": f"jdbc:mysql://db?password={CANARY}"}},
]


@pytest.mark.parametrize("config", TYPED)
def test_a_typed_secret_is_refused_and_not_repeated(config: Mapping[str, Any]) -> None:
    with pytest.raises(WracklineError) as raised:
        storable_config(config, "shop", None, typed=False)
    assert raised.value.code == "draft.typed_secret"
    assert CANARY not in str(raised.value)
    assert "${secure(shop-" in raised.value.hint


@pytest.mark.parametrize("config", TYPED)
def test_where_they_are_allowed_they_are_stars_that_come_back(config: Mapping[str, Any]) -> None:
    stored = DraftForms.of(storable_config(config, "shop", None, typed=True), "shop")
    for form in ("stages", "flat"):
        shown = stored.shown(form)
        assert CANARY not in str(shown)
        assert CANARY not in str(stored.shown("toml"))
    own = stored.shown("stages" if "stages" in config else "flat")
    assert MASK in str(own)
    named: dict[str, Any] = {} if "stages" in config else {"name": "shop"}
    assert storable_config(own, "shop", stored, typed=True) == {**named, **config}


def test_stars_that_stand_for_nothing_are_refused() -> None:
    with pytest.raises(WracklineError) as raised:
        storable_config({"database.password": MASK}, "shop", None, typed=True)
    assert raised.value.code == "draft.masked"


@pytest.mark.parametrize("text", ["${env:WRACKLINE_PW}", "${secure(db.pw-1)}", "${file:/etc/a.properties:k}"])
def test_a_reference_is_no_secret_and_is_shown(text: str) -> None:
    config = {"connector.class": "postgres", "database.password": text}
    kept = DraftForms.of(storable_config(config, "shop", None, typed=False), "shop")
    assert kept.shown("flat")["database.password"] == text
    by_user = {"schema.registry.basic.auth.user.info": f"user:{text}"}
    assert storable_config(by_user, "shop", None, typed=False) == by_user


@pytest.mark.parametrize("target", TARGET_TYPES)
@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_type_in_every_target(kind: Kind, target: str) -> None:
    element = ColumnType(Kind.INT32, "int") if kind is Kind.ARRAY else None
    there = column_in_target(ColumnType(kind, kind.value, 10, 2, element=element), target)
    assert there.type
    assert (there.support.value == "PARTIAL") is (kind in LOSSES[target])
