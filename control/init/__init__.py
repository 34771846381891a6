"""`wrackline init`: a pipeline's file, written from answers.

questions.py   what a source and a target have to be told, from their declared settings
answers.py     one answer: good as a setting's value, and no secret
document.py    the answers as commented TOML, read back before anybody sees it
writing.py     a whole file or none, over nothing that is there
"""
