"""ReLU networks: cells with flat boundaries."""
