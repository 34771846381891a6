"""What is promised of a pipeline's tables: in so many percent of the minutes, a copy is at most so old."""

from typing import NamedTuple, Self

from wrackline.schemas.settings.settings_registry import Values


class SloTerms(NamedTuple):
    """The promise."""

    minutes: int  # that a copy may be old
    percent: float
    days: int  # over which it is judged

    @classmethod
    def of(cls, values: Values) -> Self | None:
        """Read them; None: nothing is promised."""
        if values.get("slo.minutes") is None:
            return None
        return cls(
            values.integer("slo.minutes"), values.number("slo.percent"), values.integer("slo.window.days")
        )

    @property
    def most_bad(self) -> float:
        """The minutes of a table that may be bad within the days."""
        return self.days * 1_440 * (100 - self.percent) / 100
