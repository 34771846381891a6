"""A URL of an administrator that can't be read is refused, and nobody sees its password."""

from types import SimpleNamespace
from typing import cast

import pytest

from wrackline.producers.sources.mysql.connect.connect import MySqlServer
from wrackline.producers.sources.mysql.trials import MySqlTrials
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values


@pytest.mark.parametrize("url", ["boss:secret[@host", "boss:secret\u2100@host", "boss:secret/word@host"])
def test_a_url_that_can_t_be_read_says_so_without_the_secret(url: str) -> None:
    settings = cast("Values", SimpleNamespace(text=lambda _: "shop"))
    trials = MySqlTrials(cast("MySqlServer", SimpleNamespace()), settings)
    with pytest.raises(WracklineError, match="it can't be read as a URL") as raised:
        trials.mend(Secret(f"mysql://{url}"), "SELECT 1")
    assert raised.value.code == "mysql.admin_refused"
    assert "secret" not in raised.value.sentence
