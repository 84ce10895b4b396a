"""Judges the certificates and keys of Secrets: what they may cost who uses them, before and after they are parsed."""
