"""The control plane against its bars: `make bench-control` writes docs/performance-control.md."""
