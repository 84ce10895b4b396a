"""Tests of the modules in ingress/migration."""
