"""From the answers of a template to the graph of a turn."""
