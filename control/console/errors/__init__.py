"""What is wrong now, and what each error means.

In: boards, and the declarations of all codes.  Out: pages.

    errors_routes     the routes
    errors_page       what is failed, stopped, waiting or set aside now, and the tables with letters
    errors_past       what was logged in the last seven days, by code; pure
    error_codes       the meaning of a code, from the file that `./run pages` prints
"""
