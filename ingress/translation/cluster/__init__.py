"""What concerns the whole cluster: its settings, header fields of everybody, zones of nodes, drains."""
