"""The zone policies under load, replayed in simulated time; `python -m tests.bench.zones` prints the table."""
