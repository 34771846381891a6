"""A task obeys what its pipeline's settings say."""

from tests.unit.settings.shop import GOOD, checked
from wrackline.producers.task import assembly
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.schemas.kafka.schema_registry import registry_access
from wrackline.schemas.settings.settings_registry import Values


def values(**given: str) -> Values:
    found = checked({**GOOD, **given}).values
    assert found is not None
    return found


def test_tries_and_waits_are_the_settings() -> None:
    given = {"errors.max.retries": "3", "retriable.restart.connector.wait.ms": "250"}
    limits = assembly.limits(values(**given, **{"errors.retry.timeout": "1500"}))
    assert (limits.most_tries, limits.longest_wait, limits.most_seconds) == (3, 0.25, 1.5)
    assert assembly.limits(values()) == TaskLimits()


def test_new_subjects_get_the_compatibility_that_was_asked_for() -> None:
    assert registry_access(values()).compatibility == "NONE"
    given = {"schema.registry.compatibility": "BACKWARD"}
    assert registry_access(values(**given)).compatibility == "BACKWARD"


def test_notifications_go_to_the_topic_that_is_named_and_need_one() -> None:
    named = {"notification.sink.topic.name": "told"}
    for channels, wanted in (("sink", "told"), ("log,sink", "told"), ("log", None)):
        given = {"notification.enabled.channels": channels, **named}
        assert assembly._wanted(values(**given)).notifications == wanted
    assert assembly._wanted(values(**named)).notifications is None
    for channels in ("sink", "jmx,sink"):
        found = checked({**GOOD, "notification.enabled.channels": channels})
        assert found.values is None
        assert "settings.needed" in [problem.error.code for problem in found.problems]
