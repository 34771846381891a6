"""Pipelines before they are made, as CDAP's document about replication has them: drafts, tables, assessments.

    draft_routes      the routes below /v1/contexts
    draft_service     what can be done with drafts; the console calls it too
    draft_documents   the documents of the answers; pure
    draft_forms       a draft as stages, as settings, or as a pipeline's file; pure
    draft_secrets     secrets where references belong, and stars in their place; pure
    known_settings    which settings a draft may have
    property_table    which property of the document is which setting; pure
    stages_in         stages and connections as settings; pure
    stages_out        settings as stages and connections; pure
    table_lists       tables, columns and transformations as lists of patterns; pure
    table_questions   what a source says of its tables, asked in a process of its own
    column_answers    columns on their way to a target; pure
    column_support    what a kind of column is in a target, and what is lost; pure

In: what a worker offers for drafts.  Out: routes, and the same functions for other pages.
"""
