"""Imported last by the nursery: the collector never searches what is loaded by then for garbage again.

A collector that visits an object writes to it, and a page that is written to is no longer shared.
"""

import gc

gc.collect()
gc.freeze()
