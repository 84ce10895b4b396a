"""Builds the typed modules of the data plane: a `.py` file with a `.pxd` file beside it can be compiled with Cython.

Needed at build time only. Neither plane imports it.
"""
