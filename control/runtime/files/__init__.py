"""Pipelines and drafts as files of this machine.

In: settings, drafts.  Out: files that only their owner can read.

    toml_text   settings as a commented TOML file
    file_writer     a file that is written whole or not at all
    file_drafts     the drafts of a worker whose pipelines are files
"""
