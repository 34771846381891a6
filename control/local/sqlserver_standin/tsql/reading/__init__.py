"""Reading T-SQL; nothing here knows the model.

words         a text cut into words
word_reader   a place in them
syntax        the parts of a statement
expressions   expressions
definitions   CREATE, ALTER, DROP, TRUNCATE
rights        GRANT, log-ins, users, roles
parser        a batch, statement by statement
"""
