"""Sandboxes of brig for other frameworks. Each module imports its framework, and nothing else does."""
