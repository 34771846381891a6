"""Iceberg tables, format version 3, merge-on-read; readers need nothing of ours."""
