"""What tests of hooks share."""
