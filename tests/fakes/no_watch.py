"""A watch over a catalogue that never has news."""

from collections.abc import Callable


class NoWatch:
    def start(self, ready: Callable[[], None]) -> None:
        """Call nobody."""

    def take(self, passed: object) -> None:
        """See nothing."""

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing runs."""
