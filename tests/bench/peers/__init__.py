"""zonal and its peers under the same load on the same machine; `python -m tests.bench.peers` writes the page."""
