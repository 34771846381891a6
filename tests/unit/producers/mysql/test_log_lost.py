"""Of which errors `snapshot.mode = when_needed` makes a read of all rows: each Definite one is decided."""

from wrackline.producers.sources.mysql.resume.log_loss import LOST
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.errors import Definite, all_codes

NOT_READ = {  # by this version, of a log that continues
    "mysql.event_broken",
    "mysql.event_unknown",
    "mysql.file_unnumbered",
    "mysql.log_out_of_order",
    "mysql.position_unreadable",
}


def test_every_definite_error_is_a_lost_log_or_one_that_a_read_would_not_repair() -> None:
    assert PLUGIN.kind == "mysql"  # so all of its modules are there
    definite = {
        code for code, one in all_codes().items() if code.startswith("mysql.") and one.kind is Definite
    }
    assert definite - LOST == NOT_READ
    assert definite >= LOST
