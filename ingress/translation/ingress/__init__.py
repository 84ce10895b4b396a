"""Reads Ingress objects and their annotations into claims.

A second language, such as Gateway API, would be a second folder beside this one.
"""
