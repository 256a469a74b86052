"""Questions to a template: what it is asked, in which shape, and what its answers are made of."""
