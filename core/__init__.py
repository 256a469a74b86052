"""Derive a model's output format from its chat template, prove it, and parse what the model writes.

A chat template turns messages into text. :func:`analyze` questions it with conversations whose fields are known, and
returns a :class:`ChatFormat`: how this model writes reasoning, content and tool calls, as plain data, with a verdict that
says what of it was proven by reading back what the template renders.

    from pathlib import Path
    import chat_autoparser as ca

    fmt = ca.analyze(Path("model-folder"))        # or Jinja source as str, a tokenizer, a function
    print(fmt)                                    # in words
    fmt.verdict.proven                            # whether everything was read back
    message = fmt.parse(output, tools, prompt)    # a whole output into an OpenAI message

    parser = fmt.parser(tools, prompt)            # one generation, as it streams
    for delta in parser.feed("a piece of text"):
        delta.to_openai()                         # what goes into choices[].delta
    parser.finish()

* Questions to a template: :func:`load_renderer`, :class:`Renderer`, :class:`Budget` (their bounds).
* Holding a model to its format: :func:`build_structural_tag`, :func:`build_text_grammar`.
* Conversations: :func:`check_conversation`, :func:`check_roundtrips`, :func:`bridge`, :func:`attribute`,
  :func:`find_written`, :func:`mark_tokens`.
* Stored formats: :meth:`ChatFormat.to_dict`; with the proof, for one template: :func:`make_certificate`,
  :func:`load_certificate`. For transformers: :func:`compare_response_template`.
* Off the script: :class:`Policy`, the argument ``policy`` of :meth:`ChatFormat.parser`.
* A template that is silent: :class:`Lesson`, :func:`load_lessons`, and the argument ``examples`` of :func:`analyze`.
* Everything that is raised on purpose is an :class:`AutoparserError`.

Nothing is downloaded, no model is loaded, and no model or family is known by name. Formats can be shared by threads; a
parser belongs to one generation. The same from a shell: ``python -m chat_autoparser --help``.
"""

from __future__ import annotations

from .analysis import analyze
from .ask.budget import Budget
from .ask.renderer import Renderer, load_renderer
from .constrain import TextGrammar, build_structural_tag, build_text_grammar
from .converse.attribution import attribute, find_written, mark_tokens
from .converse.bridge import bridge
from .converse.roundtrip import check_roundtrips
from .converse.rules import check_conversation
from .delta import Delta
from .errors import AutoparserError, BudgetError, ConstraintError, FormatError, LessonError, TemplateError
from .export.certificate import find_version, load_certificate, make_certificate
from .export.response import ResponseTemplate, compare_response_template
from .format.chat_format import Asking, Capabilities, ChatFormat, Counterexample, Verdict
from .format.conversation import Conversation, Problem, Role, Step
from .format.model import Edge, Graph, Node, Start, TurnGraph
from .format.view import Content, Marker, Reasoning, Tools
from .parse import StreamParser
from .recover import Policy
from .teach.lesson import Lesson, load_environment_lessons, load_lessons

__version__ = find_version()

__all__ = [
    "Asking",
    "AutoparserError",
    "Budget",
    "BudgetError",
    "Capabilities",
    "ChatFormat",
    "ConstraintError",
    "Content",
    "Conversation",
    "Counterexample",
    "Delta",
    "Edge",
    "FormatError",
    "Graph",
    "Lesson",
    "LessonError",
    "Marker",
    "Node",
    "Policy",
    "Problem",
    "Reasoning",
    "Renderer",
    "ResponseTemplate",
    "Role",
    "Start",
    "Step",
    "StreamParser",
    "TemplateError",
    "TextGrammar",
    "Tools",
    "TurnGraph",
    "Verdict",
    "__version__",
    "analyze",
    "attribute",
    "bridge",
    "build_structural_tag",
    "build_text_grammar",
    "check_conversation",
    "check_roundtrips",
    "compare_response_template",
    "find_written",
    "load_certificate",
    "load_environment_lessons",
    "load_lessons",
    "load_renderer",
    "make_certificate",
    "mark_tokens",
]
