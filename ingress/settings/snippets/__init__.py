"""Reads snippets of nginx's configuration: which directives are carried out, and what to write instead of others."""
