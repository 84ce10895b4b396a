"""The kinds of Kubernetes objects that zonal reads, and the grammars of their fields."""
