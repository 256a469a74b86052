"""Certificates: what they hold, that they fit one template only, and that reading one is quick."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from chat_autoparser.analysis import analyze
from chat_autoparser.ask.renderer import load_renderer
from chat_autoparser.errors import FormatError
from chat_autoparser.export.certificate import FILE_NAME, load_certificate, make_certificate, read_certificate

SOURCE = (ROOT / "scripts" / "demo.jinja").read_text(encoding="utf-8")
NAMED = "{{ eos_token }}" + SOURCE


def test_the_format_comes_back(tmp_path: Path) -> None:
    renderer = load_renderer(SOURCE)
    format = analyze(renderer)
    (tmp_path / FILE_NAME).write_text(json.dumps(make_certificate(renderer, format)), encoding="utf-8")
    begin = time.perf_counter()
    assert load_certificate(tmp_path, load_renderer(SOURCE)) == format
    assert time.perf_counter() - begin < 0.5, "milliseconds on a machine at rest"


def test_tokens_that_the_template_does_not_name_do_not_matter() -> None:
    certificate = make_certificate(load_renderer(SOURCE, bos_token="<s>"), analyze(SOURCE))
    read_certificate(certificate, load_renderer(SOURCE, bos_token="<other>", pad_token="<pad>"))


@pytest.mark.parametrize(("source", "tokens"), [(SOURCE + " ", {}), (NAMED, {"eos_token": "<e>"}), (NAMED, {"eos_token": "<f>"})])
def test_another_template_or_token_is_refused(source: str, tokens: dict[str, Any]) -> None:
    known = load_renderer(NAMED, eos_token="<d>") if tokens else load_renderer(SOURCE)
    certificate = make_certificate(known, analyze(SOURCE))
    with pytest.raises(FormatError, match="another template"):
        read_certificate(certificate, load_renderer(source, **tokens))


@pytest.mark.parametrize("data", [None, [], {}, {"certificate": 0}, {"certificate": 1, "format": None}])
def test_what_is_no_certificate_is_refused(data: Any) -> None:
    with pytest.raises(FormatError, match="certify"):
        read_certificate(data, load_renderer(SOURCE))


def test_a_renderer_without_source_cannot_be_certified() -> None:
    with pytest.raises(FormatError, match="no Jinja source"):
        make_certificate(load_renderer(lambda messages, **kwargs: ""), analyze(SOURCE))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        load_certificate(tmp_path, load_renderer(SOURCE))
    (tmp_path / FILE_NAME).write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="not valid JSON"):
        load_certificate(tmp_path, load_renderer(SOURCE))
