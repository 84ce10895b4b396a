"""What the traffic between zones costs, before the move to zonal and after it: `zonal savings`."""
