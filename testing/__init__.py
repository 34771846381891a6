"""The contracts of sources and targets as tests, for plug-ins of ours and of others.

In: a plug-in's *world*, a fixture that its own tests write.  Out: every promise of the contract as a pytest
test.  This package needs pytest (`wrackline[testing]`); no other package of Wrackline imports it.

    sources/   what a source promises its task
    targets/   what a target promises its pipeline, and the plain models that say what is right
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.sources", f"{__name__}.targets")
