"""Writes the files of the repository that are made from its sources: `python -m tools`, or `make docs`.

A generator is a module with `files()`: the place and the whole text of each file that it makes.
"""
