"""Tests of the package that hooks import."""
