"""Stand-in for torchvision, whose published build replaces a CPU torch by a CUDA one. Text models never call it."""

from __future__ import annotations

from stand_in import stand_in

__version__ = "0.0.0"
__getattr__ = stand_in(__name__)
