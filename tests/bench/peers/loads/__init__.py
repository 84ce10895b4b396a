"""What sends requests. All but wrk are programs of their own, on a core of their own, that print one JSON line."""
