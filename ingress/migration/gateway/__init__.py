"""What becomes of Ingresses of another controller as objects of Gateway API: `zonal migrate --to gateway`."""
