.shell echo from a child
