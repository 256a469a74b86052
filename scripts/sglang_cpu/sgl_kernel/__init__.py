"""Stand-in for the CUDA kernels of SGLang, whose published build cannot be imported without a GPU driver."""

from __future__ import annotations

from stand_in import stand_in

__version__ = "0.4.10"
__getattr__ = stand_in(__name__)
