"""Pages of docs/ that are printed from the code, so that they can't fall behind it.

In: the code's own lists.  Out: text, which `./run pages` writes and a test compares.

    errors_page, metrics_page, settings_page, types_page, openapi_page   the page of that name
    stages_section                                                       the life of a table in snapshots.md
"""
