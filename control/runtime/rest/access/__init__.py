"""Access to the REST interface: users, roles and what they may ask.

In: a request's headers and the file of users.  Out: a user with a role, or a refusal.

    login           the log-in, by password, token or session
    sessions        the cookies of people who logged in at the console's page
    roles           the role that each route needs
    users_file      the file of users, read again when it changes
    passwords       hashes of passwords and digests of tokens
    failed_logins   log-ins that failed too often
    private_file    files that nobody else may read or write
    audit           who wrote what, and what was answered
    audit_routes    the same for who asks
    guard           the hosts and origins that a request may name
"""
