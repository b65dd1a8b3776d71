"""What a reply attends to: against transformers' eager attention, on tiny random models."""

import numpy as np
import pytest
import torch
from conftest import reply, tiny_model, tiny_profile

from skillrag_lite import attention
from skillrag_lite.attended import as_fed, context, read, words
from skillrag_lite.backbone import Backbone
from skillrag_lite.generation import Decoding, Usage
from skillrag_lite.prompts import Prompt

SHOTS = (("who wrote the play", "Shakespeare"), ("the capital of France", "Paris"))
PROMPTS = [
    Prompt(SHOTS, "the river flows"),
    Prompt(SHOTS, "a long way to the sea through the mountains of the north, and then a city"),
    Prompt(SHOTS, "Passages: [1] Paris <|im_end|> is a city\nAnswer: no"),
    Prompt(SHOTS, "who?", "The play is by"),
    Prompt(SHOTS, "north north north north north north", "a city\nAnswer: the"),
]
LINE = Decoding(max_new_tokens=9, answer_tokens=5, stop=("\n\n\n\n",))
FREE = Decoding(max_new_tokens=6, mark="")
SAID = reply(
    "Paris", tokens=("The", " river", " fl", "ows", "", " café", ".", " Paris"), answer_start=7
)


@pytest.fixture(params=[True, False], ids=["chat", "plain"])
def backbone(architecture, tokenizer, request):
    model = tiny_model(architecture)
    model.set_attn_implementation("shared_header")
    return Backbone(model, tokenizer, tiny_profile(chat=request.param))


@pytest.fixture
def reference(architecture):
    """The same weights under transformers' own eager attention."""
    model = tiny_model(architecture)
    model.set_attn_implementation("eager")
    return model


def spy(backbone, monkeypatch):
    """The weights that `attention` reads, row by row."""
    seen, attention = [], backbone._attention

    def noting(*how):
        rows = attention(*how)
        seen.extend(weights for weights, _ in rows)
        return rows

    monkeypatch.setattr(backbone, "_attention", noting)
    return seen


def eager(reference, backbone, prompt, said):
    """The reply's rows of the last layer's weights, heads averaged, one-by-one: (R, P + R)."""
    header, own = backbone.encoder.prompt(prompt)
    fed, _ = as_fed(backbone.encoder, said)
    with torch.no_grad():
        out = reference(torch.tensor([[*header, *own, *fed]]), output_attentions=True)
    return out.attentions[-1][0].mean(0)[-len(fed) :, len(header) :].numpy()


def test_the_last_layers_weights_equal_eager_attention(backbone, reference, monkeypatch):
    """Batched, left-padded, behind a shared header, and each row alone."""
    seen = spy(backbone, monkeypatch)
    replies = backbone.generate(PROMPTS, LINE)
    together = backbone.attention(PROMPTS, replies, 5)
    expected = [eager(reference, backbone, *pair) for pair in zip(PROMPTS, replies, strict=True)]
    assert len(seen) == len(PROMPTS)
    for weights in expected:
        assert any(weights.shape == s.shape and np.allclose(weights, s, 0, 1e-4) for s in seen)
    for prompt, said, both in zip(PROMPTS, replies, together, strict=True):
        seen.clear()
        (alone,) = backbone.attention([prompt], [said], 5)
        np.testing.assert_allclose(seen[0], eager(reference, backbone, prompt, said), atol=1e-4)
        np.testing.assert_allclose(alone.received, both.received, atol=2e-4)
        assert alone.focus == both.focus
        assert both.usage.calls == 1 and both.usage.new_tokens == 0


def test_received_and_focus_are_those_of_the_eager_weights(backbone, reference):
    """Found by another road: entry by entry."""
    fed, places = as_fed(backbone.encoder, SAID)
    for prompt in PROMPTS:
        weights = eager(reference, backbone, prompt, SAID)
        P = weights.shape[1] - weights.shape[0]
        (found,) = backbone.attention([prompt], [SAID], 4)
        for t, place in enumerate(places):
            later = [weights[r, P + c] for c in place for r in range(place.stop, len(fed))]
            assert found.received[t] == pytest.approx(max(later, default=0), abs=1e-4)
        at, texts, _ = context(backbone.encoder, prompt, P)
        paid = [(weights[places[1].start, c], text) for c, text in zip(at, texts, strict=True)]
        paid.append((weights[places[1].start, P], "The"))
        assert 1 <= len(found.focus[1]) <= 4
        for _, text in sorted(paid)[-4:]:
            assert text.strip() in " ".join(found.focus[1])
        assert found.received[-1] == found.received[4] == 0 and found.focus[4] == ()


def test_only_the_last_layer_leaves_the_fused_kernel(tokenizer, monkeypatch):
    model = tiny_model("llama")
    model.set_attn_implementation("shared_header")
    backbone, calls = Backbone(model, tokenizer, tiny_profile()), []
    backbone.generate(PROMPTS[:1], FREE)  # the header is read
    fused = attention.F.scaled_dot_product_attention

    def counting(query, *rest, **how):
        calls.append(query.shape[2])
        return fused(query, *rest, **how)

    monkeypatch.setattr(attention.F, "scaled_dot_product_attention", counting)
    backbone.attention(PROMPTS[:1], [SAID], 5)
    own, said = backbone.encoder.prompt(PROMPTS[0])[1], as_fed(backbone.encoder, SAID)[0]
    assert calls == [len(own)] * 4 + [len(said)] * 3


def test_a_reply_is_fed_as_it_was_written(backbone, tokenizer):
    ids, places = as_fed(backbone.encoder, SAID)
    mark = tokenizer("\nAnswer:").input_ids
    assert tokenizer.decode(ids) == "The river flows café.\nAnswer: Paris"
    assert ids[places[7].start - len(mark) : places[7].start] == mark
    assert len(places) == len(SAID.tokens) and not places[4]
    own_mark = reply("Paris", tokens=("A", " town", ".", " Answer:", " Paris"), answer_start=4)
    assert tokenizer.decode(as_fed(backbone.encoder, own_mark)[0]) == "A town. Answer: Paris"
    silent = reply("", tokens=("A",), answer_start=1)
    assert tokenizer.decode(as_fed(backbone.encoder, silent)[0]) == "A\nAnswer:"


def test_a_reply_of_nothing_attends_to_nothing(backbone):
    empty = reply("", mark="", tokens=(), logprobs=(), entropies=(), answer_start=0)
    (found,) = backbone.attention(PROMPTS[:1], [empty], 5)
    assert found.received == () and found.focus == ()


def test_generation_is_the_same_after_attention_was_read(backbone):
    before = backbone.generate(PROMPTS, FREE)
    backbone.attention(PROMPTS, before, 5)
    assert backbone.generate(PROMPTS, FREE)[0].tokens == before[0].tokens


def test_words_begin_behind_blanks_and_at_breaks():
    texts = ["who", "?", "The", " Sei", "ne", "", " ", "b", "\n", "c"]
    found = ["".join(texts[i] for i in word) for word in words(texts, breaks=(2,))]
    assert found == ["who?", "The", " Seine", " ", "b", "\n", "c"]


class Letters:
    """An encoder whose tokens are single characters."""

    def text(self, text):
        return list(text)

    def decode(self, ids):
        return "".join(ids)


def test_focus_holds_the_words_of_the_best_tokens_in_text_order():
    said = reply("", tokens=("a", "b", " ", "c"), mark="", answer_start=0)
    prompt = Prompt((), "xy z", "l ")
    P, R = 9, 4  # three places of the template between what is asked and the lead
    weights = np.zeros((R, P + R), np.float32)
    weights[3, [0, 2, 3, 5, 7, 9]] = [0.1, 0.05, 0.3, 0.9, 0.2, 0.25]
    weights[2, 9], weights[3, 9] = 0.4, 0.25
    places = [range(i, i + 1) for i in range(R)]
    found = read(weights, Usage(), Letters(), prompt, said, places, 4)
    assert found.focus[3] == ("xy", "z", "l", "ab")  # place 5 is the template's
    assert found.received == (0.4, 0.0, 0.0, 0.0)
    assert read(weights, Usage(), Letters(), prompt, said, places, 1).focus[3] == ("z",)
