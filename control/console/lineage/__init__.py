"""Lineage: from which table through which topic into which copy, and so each column.

In: the boards of pipelines.  Out: pages with a drawing, and the same as a table.

    lineage_routes    the pages of all pipelines, of one, and of one table
    lineage_page      what those of pipelines show; pure
    columns_page      what that of a table's columns shows; pure
"""
