"""Reserved for the SGLang plugin of chat-autoparser; there is none in this version."""

from __future__ import annotations
