"""What is read where a model did not write what its template shows. Nothing here knows a graph or reads a stream."""

from __future__ import annotations

from .policy import REPAIR, Policy, PolicyName, get_policy

__all__ = ["REPAIR", "Policy", "PolicyName", "get_policy"]
