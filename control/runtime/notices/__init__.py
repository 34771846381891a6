"""Notices: what changes in a pipeline's state is posted to an address that its settings name.

    notice_rules      which changes are noticed; pure
    notice_bodies     what is posted, and its signature; pure
    notice_settings   a pipeline's settings of notices
    notifier          looks at the boards, and sends, beside everything else

    receivers         the addresses, each with its thread and with what waits for it

In: the boards that a worker follows.  Out: requests to `notify.url`.  In a group only the coordinator sends.
"""
