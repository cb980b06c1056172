"""Bounds for networks of products: one relaxation in which every product is itself."""
