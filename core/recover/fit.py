"""Arguments brought into the form that a tool's schema wants, for those who ask for it.

Nothing is guessed: a value is opened, quoted or unquoted only where the schema refuses it as it stands and accepts the other.
"""

from __future__ import annotations

import json

from ..schema import Schema
from .notation import fit_text
from .policy import Policy
from .repair import repair, write_object
from .shape import Member, list_members


def fit_arguments(written: str, parameters: Schema, policy: Policy) -> str:
    """Return arguments as a policy wants them for a tool; what is no JSON object stays as it is."""
    try:
        members = list_members(written.strip()) if written.lstrip().startswith("{") else {}
        if policy.wrapped == "open":
            inner = _find_wrapped(members, parameters)
            if inner is not None:
                return inner
        if policy.typed != "schema":
            return written
        fitting = {key: _cast(member, parameters.get_property(key)) for key, member in members.items()}
    except (ValueError, RecursionError):
        return written
    if all(fitting[key] == member.text for key, member in members.items()):
        return written
    return write_object(fitting)


def _find_wrapped(members: dict[str, Member], parameters: Schema) -> str | None:
    """Return the object under the only key if that key is no parameter, and all of the object's are."""
    if len(members) != 1:
        return None
    ((key, member),) = members.items()
    properties = parameters.list_properties()
    text = repair(member.value.strip()) if isinstance(member.value, str) else member.text
    if key in properties or text is None or not text.startswith("{"):
        return None
    inner = json.loads(text, strict=False)
    return text if inner and properties.issuperset(inner) else None


def _cast(member: Member, schema: Schema) -> str:
    """Return a value as the schema accepts it: text for what is none, or what a text holds."""
    if schema.accepts(member.value):
        return member.text
    return fit_text(member.value if isinstance(member.value, str) else member.text, schema) or member.text
