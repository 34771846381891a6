"""Existing rows: who asked for which, how far each table is, and a form that asks for more.

In: receipts and the source half's board.  Out: a page; signals to the pipeline's task.

    rows_routes     the page, and what its form and buttons do
    rows_page       what the page shows; pure
    request_form    the fields of the form, and what is wrong with them; pure
"""
