"""How Wrackline is started, operated and watched.  The other three parts import nothing of it.

In: pipelines' files, and what an operator asks for.  Out: running tasks and consumers, text, REST.

    runtime/   what data needs to run: tasks, workers, groups, REST, checks; it imports none of the others
    cli/       the command line
    plane/     pipelines before they are made: drafts, tables, assessments
    console/   the pages of a worker that show all of its pipelines, and act on them
    local/     the servers of a demo or a test on this machine, and the demo itself
    pages/     the pages of docs/ that are printed from the code
    auto_cdc   pipelines in Python over topics that other programs write
"""
