"""Every table and figure of the paper, computed anew and set beside what it prints."""
