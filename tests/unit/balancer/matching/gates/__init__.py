"""Tests of `balancer.matching.gates`."""
