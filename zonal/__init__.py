"""Where the programs begin. Nobody else has this name, and the modules here import nothing but Python's own at first.

`python -m zonal` is `zonal`.
"""
