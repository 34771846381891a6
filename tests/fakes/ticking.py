"""A clock that advances by a millisecond each time it is asked."""


class Ticking:
    """It begins at 0."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now
