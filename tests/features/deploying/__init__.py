"""What the tests of deploy/ share: renderings, and what is judged in them."""
