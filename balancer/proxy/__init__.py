"""Runs the life of a request, top to bottom: match, pick, attempt, relay or error, account.

Most modules are compiled as well, by the types in their `.pxd` files. So the source has a dialect (docs/typed.md):
`alarm = context.alarm` before `alarm.set(…)`, because compiled code holds no reference of its own to an attribute
during a call, and the callee may clear the attribute. An attribute that is set to None is no argument of a call, for
the same reason. Arguments go by position, states are integers, and no typed method holds a function. A test finds each
breach.
"""
