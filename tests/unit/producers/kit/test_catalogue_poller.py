"""When a source looks at its catalogue: a report of the log is a reason, and an end needs no patience."""

from tests.integration.running.world import wait_until
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.kit.log_reports import LogReports, ReportMoment
from wrackline.schemas.errors import Transient, define

UNSEEN = define("test.catalogue_unseen", Transient, "{reason}", hint="nobody has to act")


class Reader:
    """Counts looks."""

    def __init__(self, *, news: bool = True) -> None:
        self.looks, self.closed, self.news = 0, False, news
        self.handed: list[int] = []

    def look(self, begun: ReportMoment) -> int | None:
        self.looks += 1
        return begun.number if self.news else None

    def handed_over(self, picture: int) -> None:
        self.handed.append(picture)

    def close(self) -> None:
        self.closed = True


def test_a_look_that_shows_nothing_new_wakes_nobody() -> None:
    reader, reports, woken = Reader(news=False), LogReports(), list[None]()
    poller = CataloguePoller(reader, reports, UNSEEN, OSError, every=1000)
    poller.start(lambda: woken.append(None))
    wait_until(lambda: reader.looks == 1)
    reports.wake()
    wait_until(lambda: reader.looks == 2)
    assert (woken, reader.handed, poller.take(lambda _: True)) == ([], [], None)
    reader.news = True
    reports.wake()
    wait_until(lambda: len(woken) == 1)
    assert (reader.handed, poller.take(lambda _: True)) == ([0], 0)
    poller.close()


def test_a_report_is_a_reason_to_look_and_an_end_ends_a_long_rest() -> None:
    reader, reports = Reader(), LogReports()
    poller = CataloguePoller(reader, reports, UNSEEN, OSError, every=1000)
    poller.start(lambda: None)
    wait_until(lambda: reader.looks == 1)
    reports.wake()
    wait_until(lambda: reader.looks == 2)
    poller.close()  # while it rests for a quarter of an hour
    assert reader.closed
    assert poller._thread is not None
    assert not poller._thread.is_alive()
