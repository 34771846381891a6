"""Errors of Spark that only an operator can end: each has its own code, with what is wrong."""

import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped] # it ships no types

from wrackline.consumers.auto_cdc.flow_batch import flow_errors
from wrackline.consumers.batch.batch import translate_errors
from wrackline.consumers.spark.forbidden_path import existing_part, find_forbidden_path
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId

TABLE = TableId("d", "public", "t")


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        (
            "Caused by: java.io.FileNotFoundException: /lake/my t/x.parquet (Permission denied)\n\tat java",
            "/lake/my t/x.parquet",
            "Permission denied",
        ),
        (
            "java.io.FileNotFoundException: /lake/t/.x.crc (Read-only file system)",
            "/lake/t/.x.crc",
            "Read-only file system",
        ),
        ("java.nio.file.AccessDeniedException: /lake/t/x\n\tat x", "/lake/t/x", "Permission denied"),
        (
            'AccessControlException: Permission denied: user=me, access=WRITE, inode="/lake":hdfs:hdfs:drwx',
            "/lake",
            "Permission denied",
        ),
    ],
)
def test_a_denial_names_the_path_and_the_cause(text: str, path: str, why: str) -> None:
    assert find_forbidden_path(text) == (path, why)
    with pytest.raises(OperatorNeeded) as caught, translate_errors("s.d.public.t", TABLE):
        raise RuntimeError(text)
    assert caught.value.code == "consume.target_forbidden"
    assert path in caught.value.sentence
    assert why in caught.value.sentence


def test_a_folder_that_is_not_made_counts_if_this_machine_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    made = f"java.io.IOException: Mkdirs failed to create file:{tmp_path}/%s/t (exists=false, cwd=file:/x)"
    delta = f"[DELTA_CANNOT_CREATE_LOG_PATH] Cannot create file:{tmp_path}/file/t/_delta_log\n\tat x"
    assert find_forbidden_path(made % "file") == (str(tmp_path / "file"), "it is not a folder")
    assert find_forbidden_path(delta) == (str(tmp_path / "file"), "it is not a folder")
    assert find_forbidden_path(made % "new") is None
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert find_forbidden_path(made % "new") == (str(tmp_path), "this process may not write there")


def test_any_other_error_is_tried_again() -> None:
    assert find_forbidden_path("java.net.ConnectException: Connection refused") is None
    with pytest.raises(Transient), translate_errors("s.d.public.t", TABLE):
        raise RuntimeError("java.net.ConnectException: Connection refused")


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            "[AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE] Cannot call the FROM_AVRO",
            "consume.avro_missing",
            "spark-avro",
        ),
        (
            "[DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION] Decimal precision 64 exceeds",
            "consume.too_many_digits",
            "decimal.handling.mode=string",
        ),
    ],
)
def test_what_no_second_try_helps_is_for_the_operator(text: str, code: str, says: str) -> None:
    for ours in (translate_errors("s.d.public.t", TABLE), flow_errors(TABLE, "s.d.public.t")):
        with pytest.raises(OperatorNeeded) as caught, ours:
            raise RuntimeError(text)
        assert caught.value.code == code
        assert says in caught.value.hint


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (
            RuntimeError("FileNotFoundException: /lake/x (Permission denied)"),
            "consume.target_forbidden",
        ),
        (Py4JNetworkError("gone"), "consume.spark_gone"),
    ],
)
def test_a_flow_is_begun_again_by_its_script(raised: Exception, code: str) -> None:
    with pytest.raises(WracklineError) as caught, flow_errors(TABLE, "t"):
        raise raised
    assert caught.value.code == code
    assert "run the script again" in caught.value.hint
    assert "wrackline consume" not in str(caught.value)
    assert caught.value.__cause__ is raised


def test_a_flow_s_hint_names_its_own_way_to_the_log() -> None:
    with pytest.raises(Transient) as caught, flow_errors(TABLE, "t"):
        raise RuntimeError("no one knows")
    assert caught.value.code == "auto_cdc.flow_failed"
    assert "spark_log=" in caught.value.hint
    assert "wrackline consume" not in str(caught.value)


def test_the_hint_names_what_exists_because_its_commands_take_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "a lake"
    folder.mkdir()
    text = f"java.io.FileNotFoundException: {folder}/orders/data/0.parquet (Read-only file system)"
    with pytest.raises(OperatorNeeded) as caught, translate_errors("s.db.public.orders", TABLE):
        raise RuntimeError(text)
    assert f"{folder}/orders/data/0.parquet" in caught.value.sentence
    assert f"ls -ld '{folder}'; findmnt -T '{folder}';" in caught.value.hint
    assert existing_part("/warehouse/orders") == "/warehouse/orders", "a path of HDFS stays as it is"
