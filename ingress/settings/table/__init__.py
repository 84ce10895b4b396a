"""The table of options: one file for each section, and `whole` with all of them."""
