"""Workers: which there are, what each of them runs, and which one coordinates the group.

In: what this worker has read of its group.  Out: a page.

    workers_routes    the page's address
    workers_page      what it shows; pure
"""
