"""What the operator gives PySpark's Java on its command line, and how many tasks run at a time."""

import os

import pytest
from pyspark import SparkContext

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
