"""Calls of gRPC's own client to gRPC's own servers, through zonal."""
