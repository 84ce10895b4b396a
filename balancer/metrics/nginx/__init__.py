"""Metrics under the names of ingress-nginx, for dashboards that read those (`--compat-metrics nginx`)."""
