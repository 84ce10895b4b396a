"""The Grafana dashboards of deploy/dashboards, described in Python, because Grafana's own JSON cannot be reviewed."""
