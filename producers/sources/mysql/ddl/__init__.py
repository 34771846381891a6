"""What a logged statement does to tables, from its text.  Pure.

In: the statement's text and its session's spelling.  Out: effects, such as TableCreated or TableAltered.

    sql_tokens         the text cut into tokens, as the server cuts it
    ddl_effects        the effects of a statement
    alterations        what the clauses of an ALTER TABLE do to stored rows
    column_renames     which columns had another name at first, kept in the saved position
"""
