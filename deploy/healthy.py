"""Says whether the process of this container answers: exit code 0 or 1.

It asks the page that WRACKLINE_HEALTH names. A container without it runs a command that ends by itself, and
is healthy as long as it runs.
"""

import os
import sys
import urllib.request

PATIENCE = 5  # seconds

page = os.environ.get("WRACKLINE_HEALTH")
if page:
    try:
        with urllib.request.urlopen(page, timeout=PATIENCE) as answer:  # noqa: S310 - the image's own setting
            answer.read()
    except OSError as exc:
        sys.exit(f"{page}: {exc}")
