"""A pipeline before it is made: four steps over one draft, which is stored at each of them.

    source -> tables -> target -> assess and start

make_routes     the drafts, and the steps of one
asking_routes   what asks servers: tables, columns, the assessment, the start
step_fields     which settings a step shows, and what was sent of them; pure
table_picker    the tables of a source, and those that a draft chooses; pure
start_page      what an assessment found, and what has to be confirmed; pure

In: the frame of the pages, and what can be done with drafts.  Out: routes.  These are the only pages that
wait for a database: they say so, and show its error when it does not answer.
"""
