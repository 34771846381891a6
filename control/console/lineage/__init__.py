"""Lineage: from which table through which topic into which copy.

In: the boards of pipelines.  Out: a page with a drawing, and the same as a table.

    lineage_routes    the pages of all pipelines and of one
    lineage_page      what they show; pure
"""
