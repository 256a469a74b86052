"""Conversations: their rules, what comes back of a turn, the next prompt without rendering, and who wrote what."""
