"""Defines the routing model: everything the data plane knows, immutable and compared by value.

A worker gets the model of thousands of backends as bytes. So a struct leaves out fields that have their defaults
(`omit_defaults`), which are then one object for all, and no search for cycles looks at it (`gc=False`): a value that is
made of values made before has none.
"""
