"""The proof: what the template renders for fields of our choice, a parser must read back."""
