"""Makes the span of each traced request, and sends spans to a collector."""
