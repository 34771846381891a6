"""The screen of a pipeline's settings: what it runs with, where each value comes from, and what it means.

In: the settings in force, secrets as stars.  Out: a page.  It changes nothing, and names what does.

    settings_routes    the route
    settings_page      which settings are shown, by group; pure
"""
