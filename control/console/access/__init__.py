"""What every page and every form of the console is held to.

In: a request behind the log-in.  Out: what its user may do and see, and the fields of its form; or a refusal.

    page_route      a route whose refusals are pages; a form of another session is refused
    sent_form       the fields of a form
    permissions     what the user of a page may do and see
"""
