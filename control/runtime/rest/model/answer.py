"""The one form of all answers: JSON, and of errors Kafka Connect's words with ours beside them."""

import orjson
from fastapi import Response


class Answer(Response):
    """A document as JSON."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Write it."""
        return orjson.dumps(content)


def error_response(status: int, sentence: str, code: str, hint: str) -> Answer:
    """Answer with an error."""
    return Answer({"error_code": status, "message": sentence, "code": code, "hint": hint}, status)
