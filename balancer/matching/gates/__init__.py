"""Gates: what may refuse a request, or change its head, between the match of its route and the pick of an endpoint."""
