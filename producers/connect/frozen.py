"""Imported last by the nursery: what is loaded by then is never looked through for garbage again.

A collector that walks over an object writes to it, and a page that is written to is shared no longer.
"""

import gc

gc.collect()
gc.freeze()
