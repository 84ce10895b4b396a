"""What tests of pages share."""
