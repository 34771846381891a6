"""Prints docs/openapi.json: the worker's REST, described for programs."""

import json

from wrackline.control.runtime.rest.describe.openapi import document


def page() -> str:
    """Return the page."""
    return json.dumps(document(), indent=1) + "\n"


if __name__ == "__main__":
    print(page(), end="")
