"""What others bring costs what its length costs, and nothing of it raises: white space without end, odd schemas, many tools."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from rendering import BOS, EOS
from streams import ROUTE_TOOL, Reading, analyze, make_tool, read
from templates import SAMPLES, TOOLS, count_work, get_format, open_calls, write_calls, write_prompt
from test_garbled import SYNTAX
from test_slips_between import SPOKEN

import chat_autoparser as ca
from chat_autoparser.message import fold_deltas
from chat_autoparser.parse.fence import Fence
from chat_autoparser.parse.names import find_name_in_id
from chat_autoparser.plan.plan import get_plan
from chat_autoparser.plan.spots import Spot
from chat_autoparser.schema import ToolSet

SHAPE = "tagged arguments"
FIND = ("find_okapi", {"habitat": "pen twelve", "limit": 3})


@pytest.mark.parametrize("shape", sorted(SAMPLES)[::3])
def test_floods_of_white_space_cost_what_their_length_costs(shape: str) -> None:
    """In pieces, wherever they come: at the beginning, in a name, in a value, behind it and behind the call."""
    form, prompt, call = get_format(shape), write_prompt(shape), open_calls(shape) + write_calls(shape, FIND)
    for place in range(0, len(call), max(len(call) // 12, 1)):
        short, long = (count_work(form, prompt, call[:place] + "\n" * size, 4)[-1] for size in (4000, 12000))
        assert long <= 3.2 * short, call[:place]


def test_white_space_that_was_held_is_there_when_something_follows() -> None:
    for size in (10, 600, 3000):
        text = open_calls(SHAPE) + write_calls(SHAPE, FIND).replace("twelve", "twelve" + "\n" * size + "or more")
        pieces: list[Reading] = [read(get_format(SHAPE), cut, TOOLS, write_prompt(SHAPE)) for cut in ([text], list(text))]
        assert pieces[0][:5] == pieces[1][:5]
        assert "twelve" + "\\n" * size + "or more" in pieces[0].calls[0][1]


def test_quotes_behind_which_nothing_follows_cost_what_their_number_costs() -> None:
    """A string seems to end at the first of them; each later one may be its end, and is looked at once."""
    call = '<<deeds>>[find_okapi(habitat="pen" '
    short, long = (count_work(analyze(SYNTAX), "<<assistant>>", call + 'and "more ' * size, 4)[-1] for size in (300, 900))
    assert long <= 3.2 * short


def test_what_may_end_a_value_late_is_looked_at_once() -> None:
    """Behind the first place for that stands another call, which does not end: each piece of it is waited for with little work."""
    shape = "tagged arguments, reasoning opened by the prompt"
    call = open_calls(shape) + write_calls(shape, FIND)
    end = call.index("</function>") + len("</function>")
    text = f"{call[:end]}hink>\n\n{call[call.index('<tool_call>') : end]}"
    short, long = (count_work(get_format(shape), write_prompt(shape), text + "x y " * size, 4)[-1] for size in (100, 300))
    assert long <= 2 * short


def test_marks_that_a_thought_names_are_not_looked_for_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    look = Fence.read

    def note(fence: Fence, text: str) -> Fence:
        looked.append(len(text))
        return look(fence, text)

    monkeypatch.setattr(Fence, "read", note)
    text = "It goes into `<say>`, not here. " * 600
    found = read(analyze(SPOKEN), [f"{text}\n<say>Yes.</say>\n<<over>>"], None, "<<assistant>>\n")
    assert (found.reasoning, found.content) == (text, "Yes.")
    assert sum(looked) <= 4 * len(text)


@pytest.mark.parametrize("odd", [1, None, True, ("a",)])
def test_a_schema_may_have_any_keys(odd: object) -> None:
    parameters = {"properties": {odd: {}, "habitat": {}}, "required": [[odd], {}]}
    tool = {"type": "function", "function": {"name": "find_okapi", "parameters": parameters}}
    for policy in ("strict", "lenient", "repair"):
        found = read(get_format(SHAPE), [open_calls(SHAPE) + write_calls(SHAPE, FIND)], [tool], write_prompt(SHAPE), policy)
        assert [name for name, _ in found.calls] == ["find_okapi"]


def test_what_is_remembered_of_outputs_is_little() -> None:
    form = get_format(SHAPE)
    for code in range(0x4E00, 0x4E00 + 1500):
        form.parse(f"{open_calls(SHAPE)}<{chr(code)}>", TOOLS, write_prompt(SHAPE))
    spots = get_plan(form.graph, True, False, True)._spots.values()
    assert max(len(spot._sorted) for spot in spots) <= 512


@pytest.mark.parametrize("shape", ["typed tags", "call syntax", "odd quotes"])
def test_nothing_is_kept_of_values_that_turn_out_to_be_texts(shape: str) -> None:
    form, written = get_format(shape), open_calls(shape) + write_calls(shape, ("find_okapi", {"limit": 37}))
    counts = []
    for number in range(60):
        assert form.parse(written.replace("37", f"many{number} words"), TOOLS, write_prompt(shape))["tool_calls"]
        counts.append(sum(isinstance(each, Spot) for each in gc.get_objects()) if number % 30 == 29 else 0)
    assert counts[59] <= counts[29] + 5


def test_a_fault_of_whatever_kind_stays_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was held back is handed on, too, and so is the rest."""
    parser = get_format(SHAPE).parser(TOOLS, write_prompt(SHAPE))
    seen = parser.feed("Hello <tool")

    def fail(*_: object) -> None:
        raise AttributeError("of our own")

    monkeypatch.setattr(type(parser), "_step", fail)
    monkeypatch.setattr(type(parser.plan), "spot", fail)
    seen += [*parser.feed(" of the trade>."), *parser.feed(" Bye."), *parser.finish()]
    assert fold_deltas(seen)["content"] == "Hello <tool of the trade>. Bye."
    assert "fault" in {name for name, _ in parser.recoveries}


@pytest.mark.parametrize(("name", "text"), [("pestle", '(calle:o"" :z(map("a"())'), ("kedgeree", '(calld:z(map"a"("")')])
def test_what_ends_a_list_ends_none_behind_a_call_that_has_ended(name: str, text: str) -> None:
    template = (Path(__file__).parent / "unseen" / f"{name}.jinja").read_text()
    parser = analyze(template, bos_token=BOS, eos_token=EOS).parser()
    parser.feed(text)
    parser.finish()
    assert "fault" not in {recovery for recovery, _ in parser.recoveries}


def test_an_id_is_looked_at_for_the_tools_it_may_name() -> None:
    tools = [make_tool(f"service_{number}_find") for number in range(3000)] + [ROUTE_TOOL]
    names = tuple(ToolSet(tools).tools)
    assert find_name_in_id("functions.find_route:0", names) == "find_route"
    assert find_name_in_id("functions.service_77_find:12", names) == "service_77_find"


def test_of_a_value_that_was_cut_the_text_is_kept() -> None:
    """Where nothing tells its type, as long as it can be nothing else."""
    form, prompt = get_format(SHAPE), write_prompt(SHAPE)
    text = open_calls(SHAPE) + write_calls(SHAPE, ("find_okapi", {"habitat": "the whole long text of a letter"}))
    cut = text[: text.index(" of a letter")]
    for tools in (None, [make_tool("find_okapi", limit="integer")]):
        calls = form.parse(cut, tools, prompt)["tool_calls"]
        assert calls[0]["function"]["arguments"] == '{"habitat": "the whole long text'
    cut = text[: text.index("the whole")] + "12"
    assert form.parse(cut, None, prompt)["tool_calls"][0]["function"]["arguments"] == '{"habitat": '
    assert ca.Policy().cut == "keep"
