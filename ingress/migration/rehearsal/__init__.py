"""What would have become of logged requests: `zonal rehearse` replays an access log of ingress-nginx."""
