"""The behaviour of ingress-nginx as cases (tests/cases/ingress_nginx.json), played over real sockets."""
