"""Plays the hostile cases of tests/cases/http_cases.json against the running proxy and judges what was seen."""
