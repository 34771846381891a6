"""Control records that a test can read."""

from collections.abc import Mapping

from wrackline.producers.contract.steps import Coming, Message, Misfit, Saved, Shape
from wrackline.producers.cutting.record_buffer import Record
from wrackline.schemas.tables.table import TableId


class PlainControl:
    """Names each record's kind in its topic."""

    def __init__(self, *, counts: bool = True) -> None:
        self.counts = counts

    def heartbeat(self) -> Record:
        return ("beat", b"server", b"now")

    def begin(self, transaction: str, ts_ms: int) -> Record:
        return ("tx", b"BEGIN", f"{transaction} {ts_ms}".encode())

    def end(self, transaction: str, ts_ms: int, counts: Mapping[TableId, int]) -> Record:
        return ("tx", b"END", f"{transaction} {ts_ms} {sum(counts.values())}".encode())

    def message(self, step: Message, ts_ms: int) -> Record | None:
        return ("message", step.prefix.encode(), f"{step.content!r} {ts_ms}".encode())

    def unfit(
        self, table: TableId, misfit: Misfit, place: Saved, chunk: str | None, ts_ms: int
    ) -> Record | None:
        told = f"{table} {chunk or misfit.seq} {ts_ms}".encode()
        return ("letter", misfit.key, told) if misfit.letter and place else None

    def shape(self, step: Shape, ts_ms: int) -> Record | None:
        return None if step.before is None else ("shape", None, str(ts_ms).encode())

    def coming(self, step: Coming, ts_ms: int) -> Record | None:
        return (type(step).__name__, None, str(ts_ms).encode())
