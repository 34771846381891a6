"""The catalogue, and the types of columns.

facts          what the catalogue has
catalogue      the tables that our user can see, and their facts
catalogue_looks  looks at it for the thread that mines
catalogue_sql  the statements that ask for them
types          the kind of each type
shapes         what a table's facts mean: columns, key, the part that is published
"""
