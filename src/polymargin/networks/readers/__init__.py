"""Readers: one file per format that people bring."""
