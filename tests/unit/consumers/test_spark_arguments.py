"""What the operator gives PySpark's Java on its command line, how many tasks run at a time, how it ends."""

import os
import subprocess
from typing import Any
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
from pyspark import SparkContext
from pyspark.sql import SparkSession

from wrackline.consumers.spark import sessions
from wrackline.schemas.errors import OperatorNeeded


@pytest.mark.parametrize("given", ["--properties-file x.conf", "--properties-file=x.conf"])
def test_another_properties_file_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java reads one such file alone: ours would count for nothing, with the jars and the passwords in it."""
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda: None)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.x=1 pyspark-shell")
    sessions._launch({})
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
    with pytest.raises(OperatorNeeded, match=r"spark.properties_file"):
        sessions._launch({})


@pytest.mark.parametrize(("asked", "cores"), [(None, 1), ("1", 1), ("7", 7), ("*", os.cpu_count())])
def test_a_shuffle_has_as_many_parts_as_tasks_run_at_a_time(asked: str | None, cores: int) -> None:
    """`local[*]` is the default, which most pipelines have."""
    assert sessions._cores(asked) == cores


@pytest.mark.parametrize("failure", [None, Py4JNetworkError("gone"), ConnectionRefusedError()])
def test_pyspark_forgets_a_java_that_has_ended(
    failure: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`wrackline check --probe` opens a lake twice: the second session asked the Java of the first."""
    with subprocess.Popen("cat", stdin=subprocess.PIPE) as java:
        session: Any = Mock(stop=Mock(side_effect=failure))
        session.sparkContext._gateway.proc = java
        for of, name in [
            (SparkContext, "_gateway"),
            (SparkContext, "_jvm"),
            (SparkSession, "_instantiatedSession"),
            (SparkSession, "_activeSession"),
        ]:
            monkeypatch.setattr(of, name, session)
        sessions.end(session)
        assert java.returncode == 0
    assert SparkContext._gateway is SparkContext._jvm is None
    assert SparkSession._activeSession is SparkSession._instantiatedSession is None
