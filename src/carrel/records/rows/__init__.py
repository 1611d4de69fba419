"""How records become rows and rows records: the columns that every engine has in common.

An engine says by a function of its own how it takes a text, which may hold anything that Python's may.
"""
