"""What the admin port knows, in a terminal: `zonal top`, `status`, `routes`, `endpoints`, `certs` and `findings`."""
