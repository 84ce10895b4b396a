"""What ConfigMap and annotations may say: keys, grammars and defaults."""
