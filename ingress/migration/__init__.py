"""What becomes of the Ingresses of another controller: `zonal check` and `zonal migrate`."""
