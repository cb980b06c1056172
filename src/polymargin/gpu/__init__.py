"""Paths on a GPU: the follower of the CPU core as a kernel generated for each architecture."""
