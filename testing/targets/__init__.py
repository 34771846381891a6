"""The target contract as tests, with the models that say what is right.

In: a `TargetWorld`, which is a target and its storage from a reader's side.  Out: the promises.

    target_suite    rows, commits, letters, shapes: every target's; a plug-in's tests subclass `TargetSuite`
    keyless_suite   tables without a key
    modes_suite     histories, tables of events, hard deletes
    drop_suite      tables that are taken away
    histories       logs of a few rows, chosen by a number
    merge_model     the merge in plain Python
    history_model   a table's history in plain Python
"""
