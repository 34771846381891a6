"""The console: pages of a worker that show all of its pipelines, and act on them.

    browser -> routing -> pipelines_page, pipeline_page, table_page (pure) -> templates -> HTML

routing             the routes: pages, actions that are passed on, and the log-in
events              the screen of a table's events
errors              what is wrong now, and what each error means
letters             the screen of dead letters
shapes              the screen of a table's shapes
access              what users may do and see, and which forms are of their session
rows                existing rows
lines               the log of both halves
log                 positions and log
make                a pipeline before it is made: drafts in four steps
settings            what a pipeline runs with
lineage             from which table into which copy
workers             workers, and what each of them runs
draw                geometry of drawings
page_frame          what all pages share: the boards in memory, the templates, the headers
page_renewal        what an open page gets when it renews itself: nothing, or those sections that have changed
pipelines_page      what the list of pipelines shows
pipeline_page       what one pipeline shows
table_layout        how each of its tables is, which are listed, and their map
table_page          what one table shows
heat_figures        what the map of tables is coloured by
page_words          states in words with their icons, and numbers as people read them
templates, static   the HTML, one style sheet, a few lines of JavaScript, and htmx

No page asks a database, Kafka or a target, but those that say so, which answer within two seconds.  Each
works without JavaScript; with it, it renews itself.
"""
