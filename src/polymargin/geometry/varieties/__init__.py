"""Varieties of any codimension: critical points, ED degrees, polar degrees, nearest points."""
