"""Tests of the modules in balancer/metrics/nginx."""
