"""The cases of Gateway API, and what plays them."""
