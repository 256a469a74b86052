"""``python -m chat_autoparser``: the command ``chat-autoparser``."""

from __future__ import annotations

import sys

from .show.command import main

sys.exit(main())
