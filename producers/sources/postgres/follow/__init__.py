"""The tables of one stream: how they appear, change and disappear as the log is read.

In: relation messages, DDL messages, snapshots of the catalogue.  Out: the shape and schema ids of a table's
rows, and steps such as Appeared, Reshaped and Vanished.

    table_tracker      which tables there are at this place of the log, each change reported once
    sight              whether any catalogue of the server may have changed
    catalogue_snapshot reads the whole catalogue now and then, and adds new tables to the publication
    table_resolver     resolves a relation message to its shape and the ids of its schemas
    publication        creates the publication and adds tables to it
    publication_fit    what a publication carries, compared with what is copied
"""
