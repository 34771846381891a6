"""What every form of the console is held to.

sent_form       the fields of a form
"""
