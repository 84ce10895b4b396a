"""The process on the test API server: the stage, its load, and what deploy/ grants."""
