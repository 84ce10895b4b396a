"""Chaos: hostile clients, endpoints and tenants together for minutes, beside one modest tenant who must not notice."""
