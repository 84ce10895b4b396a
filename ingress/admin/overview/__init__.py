"""What a replica knows about its traffic, as one document."""
