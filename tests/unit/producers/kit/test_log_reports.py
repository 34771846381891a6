"""Reports and looks: what the log reports while a look runs is newer than its snapshot."""

from dataclasses import dataclass

from wrackline.producers.kit.log_reports import LogReports, ReportMoment


@dataclass(frozen=True)
class Moment:
    begun: int
    unsettled: frozenset[str] = frozenset()


def test_a_report_is_before_a_look_that_began_after_it() -> None:
    reports = LogReports()
    assert reports.before(0, "never reported")
    reports.add("a")
    begun = reports.count
    reports.add("b")
    assert reports.before(begun, "a")
    assert not reports.before(begun, "b")
    assert not reports.before(begun, "a", "b"), "all of them have to be older"
    assert reports.before(reports.count, "a", "b")


def test_the_last_report_of_a_subject_counts() -> None:
    reports = LogReports()
    reports.add("a")
    begun = reports.count
    reports.add("b", "a")
    assert not reports.before(begun, "a")


def test_a_report_of_nothing_in_particular_is_counted() -> None:
    reports = LogReports()
    reports.add()
    assert (reports.count, reports.wakes, set(reports.recent())) == (1, 0, set())
    reports.wake()
    assert (reports.count, reports.wakes) == (1, 1)


def test_a_snapshot_ends_the_reports_that_it_contains() -> None:
    reports = LogReports()
    reports.add("unsettled")
    reports.add("a")
    begun = reports.count
    reports.add("b")
    reports.forget(Moment(begun, frozenset({"unsettled"})))
    assert set(reports.recent()) == {"unsettled", "b"}, "what was being changed is looked at again"
    assert reports.before(begun, "a")
    assert not reports.before(begun, "b")


def test_a_look_that_reads_the_count_sees_the_subjects_of_its_reports() -> None:
    """The thread that looks reads the count first: a number without its subject would hide a change."""
    seen: list[tuple[int, bool]] = []

    class Watched(LogReports):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "moment" and value != ReportMoment():
                seen.append((self.count, "a" in self.recent()))

    Watched().add("a")
    assert seen == [(1, True)]


def test_a_snapshot_has_a_number_and_is_no_news() -> None:
    reports = LogReports()
    reports.add("a")
    reports.take_snapshot()
    assert reports.moment == ReportMoment(number=2, news=1)
    reports.add()
    assert reports.moment == ReportMoment(number=3, news=2)
