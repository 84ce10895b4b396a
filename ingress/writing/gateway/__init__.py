"""What zonal writes for Gateway API: statuses of its objects, and a Service for each Gateway."""
