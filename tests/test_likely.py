"""What is like a text of the format but for a sign or two, case, layout or quotes is that text, where one is expected. The templates are invented."""

from __future__ import annotations

import random
from typing import Any

import pytest
import slips
from invent import draw
from invent.turns import Speaker
from rendering import BOS, EOS
from streams import ROUTE_TOOL, Reading, analyze, get_calls, read_all_ways

import chat_autoparser as ca
from chat_autoparser.message import fold_deltas
from chat_autoparser.plan.mistyped import find_like, may_be_like

TEMPLATE = """\
{%- for m in messages -%}
/* {{ m.role }} */
{% if m.reasoning_content %}/* musing */
{{ m.reasoning_content }}
/* end of musing */
{% endif %}{{ m.content or "" }}{% for c in m.tool_calls or [] %}
/* deed */ {"ref": "{{ c.id }}", "deed": "{{ c.function.name }}", "details": {{ c.function.arguments | tojson }}} /* end of deed */
{%- endfor %}
/* over */
{% endfor -%}
{%- if add_generation_prompt %}/* assistant */
{% endif -%}
"""

MUSING = "/* musing */\nA route.\n/* end of musing */\n"
CALL = '\n/* deed */ {"ref": "call_1", "deed": "find_route", "details": {"start": "Oslo"}} /* end of deed */'
OVER = "/* over */\n"


def read(text: str) -> Reading:
    return read_all_ways(analyze(TEMPLATE), text, [ROUTE_TOOL])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("/* end of musing */", "/* end of musnig */"),
        ("/* end of musing */", "/* End Of Musing */"),
        ("/* end of musing */", "/*end of musing*/"),
        ("/* end of musing */", "/* end of musing"),
        ("/* deed */", "/* dede */"),
        ("/* deed */", "/*deed*/"),
        ('"details":', '"detials":'),
        ('"details":', "'details':"),
        ('"details":', '"DETAILS" :'),
        ('", "deed": "', '", "deeed": "'),
        ('{"start": "Oslo"}} /* end of deed */', '{"start": "Oslo"}} /* end of deeds */'),
        ('{"start": "Oslo"}} /* end of deed */', '{"start": "Oslo"}} / * end of deed * /'),
        ("/* deed */", "/* deed */ /* deed */"),
    ],
)
def test_what_is_like_a_text_is_that_text(right: str, wrong: str) -> None:
    text = MUSING + "I look." + CALL + OVER
    assert text.count(right) == 1
    found = read(text.replace(right, wrong))
    assert ((found.reasoning or "").strip(), (found.content or "").strip()) == ("A route.", "I look.")
    assert (get_calls(found), found.incomplete) == ([("find_route", {"start": "Oslo"})], set())


SIGNED = """\
{%- for m in messages -%}
::{{ m.role }}::{{ m.content or "" }}{% for c in m.tool_calls or [] -%}
::deed::【call_id】{{ c.id }}【/call_id】{{ c.function.name }}(
{%- for k, v in c.function.arguments.items() %}{{ k }} = {% if v is string %}<![CDATA[{{ v }}]]>{% else %}{{ v | tojson }}{% endif %}
{%- if not loop.last %}, {% endif %}{% endfor %})::end_deed::{% endfor %}::over::
{% endfor -%}
{%- if add_generation_prompt %}::assistant::{% endif -%}
"""
SIGNED_CALL = "I look.::deed::【call_id】a_1【/call_id】find_route(start = <![CDATA[Os > lo]]>, legs = 2)::end_deed::::over::\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("::deed::", "::DEED::"), ("::deed::", "::deeed::"), ("【/call_id】", "【/cal_id】"), (" = <!", ": <!"), ("find_route(", "find_route[")],
)
def test_signs_that_data_has_too_and_two_sided_marks(right: str, wrong: str) -> None:
    """A text may begin with a sign of data, an id ends where no id goes on, and the marks around a text are none of it."""
    found = read_all_ways(analyze(SIGNED), SIGNED_CALL.replace(right, wrong), [ROUTE_TOOL])
    assert (found.content, get_calls(found)) == ("I look.", [("find_route", {"start": "Os > lo", "legs": 2})])


@pytest.mark.parametrize(
    "text",
    [
        "Write /* end of deeds */ behind it.",
        "/* deeds */ are what a hero does.",
        'Send {"deed": "find_route"} for a route.',
        "/* deed */ is a mark.",
        "/* musings */",
    ],
)
def test_what_only_speaks_of_a_text_is_none(text: str) -> None:
    found = read(MUSING + text + OVER)
    assert ((found.reasoning or "").strip(), found.content, found.calls) == ("A route.", text, [])


def test_a_call_without_its_mark_behind_another_one_names_its_tool() -> None:
    template = (
        "{%- for m in messages -%}[{{ m.role }}]{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
        "[DEED]{{ c.function.name }}[WITH]{{ c.function.arguments | tojson }}{% endfor %}[/{{ m.role }}]{% endfor -%}"
        "{%- if add_generation_prompt %}[assistant]{% endif -%}"
    )
    text = '[DEED]find_route[WITH]{"start": "Oslo"}find_route[WITH]{"start": "Bodø"}[/assistant]'
    found = read_all_ways(analyze(template), text, [ROUTE_TOOL])
    assert (found.content, get_calls(found)) == (None, [("find_route", {"start": "Oslo"}), ("find_route", {"start": "Bodø"})])
    other = '[DEED]find_route[WITH]{"start": "Oslo"}find_router is none.[/assistant]'
    found = read_all_ways(analyze(template), other, [ROUTE_TOOL])
    assert (found.content, get_calls(found)) == ("find_router is none.", [("find_route", {"start": "Oslo"})])


@pytest.mark.parametrize(
    ("written", "meant", "end"),
    [
        ("<|end|>x", "<|end|>", 7),
        ("<|ened|>x", "<|end|>", 8),
        ("end of cal;x", "end of call;", 11),
        ("END  OF CALL; x", "end of call;", 13),
        ("'name' :'f'", '"name": "', 9),
        ("thinking of it", "<thinking>", 0),
        ("[[{calls", "[{calls", 0),
        ("ended", "enough", 0),
    ],
)
def test_likeness(written: str, meant: str, end: int) -> None:
    found = find_like(written, meant)
    assert (found.end if found else 0) == end


SEEDS = [f"likely:{number}" for number in range(6)]


def test_most_outputs_with_one_slip_come_as_the_same_message() -> None:
    found = [row.found for seed in SEEDS for row in slips.measure(seed)]
    assert len(found) > 200
    assert found.count("right") >= 0.7 * len(found)
    assert found.count("other") <= 0.09 * len(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_output_with_a_slip_is_the_same_in_pieces(seed: str) -> None:
    rows = slips.measure(seed)
    speaker = Speaker(draw(random.Random(seed)))
    form = ca.analyze(speaker.source, bos_token=BOS, eos_token=EOS)
    prompt = ca.load_renderer(speaker.source)([{"role": "user", "content": "Go."}], slips.TOOLS, True)
    for row in random.Random(seed).sample(rows, min(12, len(rows))):
        parser = form.parser(slips.TOOLS, prompt, policy="repair")
        deltas = [delta for sign in row.text for delta in parser.feed(sign)] + parser.finish()
        assert _strip_ids(fold_deltas(deltas)) == _strip_ids(row.read), row.text


def _strip_ids(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "tool_calls": [call["function"] for call in message.get("tool_calls", [])]}


def test_a_text_of_many_words_behind_each_turn_is_not_looked_for_in_others() -> None:
    """What is like a text is looked for as far as a mark or a line goes, not in each beginning of an instruction."""
    told = "".join(f"Rule {number}: answer in one line. " for number in range(30))
    template = (
        "{%- for m in messages -%}<<{{ m.role }}>>{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<deed>{\"name\": "
        "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</deed>{% endfor %}<<over>>" + told + "{% endfor -%}"
        "{%- if add_generation_prompt %}<<assistant>>{% endif -%}"
    )
    format = analyze(template)
    assert format.verdict.proven
    may_be_like.cache_clear()
    parser = format.parser(tools=[ROUTE_TOOL], prompt="<<assistant>>")
    for char in "<< " + told[:200]:
        list(parser.feed(char))
    assert may_be_like.cache_info().misses < 50
