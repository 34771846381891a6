"""The demo's shop on each source that it can be on: one module a source, behind one protocol (shop.py)."""
