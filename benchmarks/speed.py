"""How fast the backbone is, against a plain loop and against the machine. Numbers, not tests.

    python -m benchmarks.speed [--profile pocket] [--n 48] [--rounds 2] [loop taps prefill decode]

Compared things alternate (A B A B) within one run; medians and ratios are printed, since the
seconds of a shared machine mean little from one run to the next.
"""

import argparse
import statistics
from dataclasses import replace
from timeit import timeit

import numpy as np
import torch
from rank_bm25 import BM25Okapi
from transformers import AutoModelForCausalLM

from skillrag_lite import checkpoints, data, profiles, retrieve
from skillrag_lite.backbone import Backbone
from skillrag_lite.generation import Decoding
from skillrag_lite.prompts import QA, answer_prompt
from skillrag_lite.taps import Taps

ENDLESS = Decoding(max_new_tokens=48, mark="", stop=())


def alternate(works: dict, rounds: int) -> dict[str, float]:
    """Median seconds of each work, run in turns."""
    times = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(timeit(work, number=1))
            print(f"    {name}: {times[name][-1]:.2f} s", flush=True)
    return {name: statistics.median(values) for name, values in times.items()}


class Plain:
    """The loop that most public code has: one question, one pass, hooks on every block."""

    def __init__(self, backbone: Backbone, corpus):
        self.encoder, self.corpus = backbone.encoder, corpus
        folder = checkpoints.converted(backbone.profile.weights)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
        self.bm25 = BM25Okapi([retrieve.tokens(f"{p.title} {p.text}") for p in corpus])
        self.states = []
        for block in self.model.model.layers:
            block.register_forward_hook(lambda m, a, out: self.states.append(out.detach().clone()))

    def __call__(self, questions):
        for question in questions:
            for passages in (None, self.search(question.question)):
                self.answer(answer_prompt(question.question, passages))

    def search(self, query):
        scores = self.bm25.get_scores(retrieve.tokens(query))
        return [self.corpus[i] for i in np.argsort(-scores, kind="stable")[: retrieve.TOP_K]]

    @torch.inference_mode()
    def answer(self, prompt) -> str:
        header, ids = self.encoder.prompt(prompt)
        text = self.go_on([*header, *ids], 64)
        if "Answer:" not in text:
            written = self.encoder.text(f"{text.strip()}\nAnswer:")
            text += "\nAnswer:" + self.go_on([*header, *ids, *written], 24)
        return text

    def go_on(self, ids, budget) -> str:
        self.states.clear()
        out = self.model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=budget, do_sample=False, stopping_criteria=[self.line_is_over(len(ids))],
        )  # fmt: skip
        pooled = torch.stack([h[:, -1].float() for h in self.states]).mean(1)
        assert pooled.isfinite().all()
        return self.encoder.decode(out[0, len(ids) :].tolist())

    def line_is_over(self, start):
        def over(ids, scores, **_):
            text = self.encoder.decode(ids[0, start:].tolist())
            done = "\n" in text.partition("Answer:")[2]
            return torch.tensor([done])

        return over


def loop(backbone, corpus, questions, rounds) -> None:
    """Questions a second, both conditions, against the plain loop."""
    index, plain = retrieve.BM25(corpus), Plain(backbone, corpus)

    def ours():
        backbone._headers.clear()
        found = index.search([q.question for q in questions])
        backbone.generate([answer_prompt(q.question) for q in questions], QA)
        backbone.generate(
            [answer_prompt(q.question, p) for q, p in zip(questions, found, strict=True)], QA
        )

    took = alternate({"plain": lambda: plain(questions), "ours": ours}, rounds)
    for name, value in took.items():
        print(f"  {name}: {len(questions) / value:.2f} questions/s")
    print(f"  ratio {took['plain'] / took['ours']:.1f} (goal 5)")


def taps(backbone, corpus, questions, rounds) -> None:
    """The same generation with and without taps."""
    prompts = [answer_prompt(q.question) for q in questions[:32]]
    decoding = replace(ENDLESS, max_new_tokens=24)

    def tapped():
        backbone.generate(prompts, decoding)

    def bare():
        backbone.taps.close()
        backbone.generate(prompts, replace(decoding, states=False))
        backbone.taps = Taps(backbone.model.base_model.layers, backbone.profile.kept_layers)

    backbone.ends = frozenset()
    tapped()
    took = alternate({"with": tapped, "without": bare}, rounds * 5)
    print(f"  ratio {took['with'] / took['without']:.3f} (goal 1.03)")


def matmul_rate() -> float:
    """The machine's bf16 matrix product just now, FLOP/s."""
    a, b = torch.randn(2, 4096, 4096).bfloat16()
    return 2 * 4096**3 / statistics.median(timeit(lambda: a @ b, number=1) for _ in range(5))


def bandwidth() -> float:
    """Bytes a second at which memory is read just now."""
    x = torch.ones(2**28, dtype=torch.float32)
    return x.numel() * 4 / statistics.median(timeit(x.sum, number=1) for _ in range(5))


def matrices(model) -> int:
    """The number of parameters that every token is multiplied with."""
    linear = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    return sum(m.weight.numel() for m in linear)


def prefill(backbone, corpus, questions, rounds) -> None:
    """FLOP/s of reading prompts, over the machine's matrix product."""
    index, config = retrieve.BM25(corpus), backbone.model.config
    found = index.search([q.question for q in questions[:16]])
    encoded = [
        backbone.encoder.prompt(answer_prompt(q.question, p))
        for q, p in zip(questions, found, strict=False)
    ]
    header, ids = encoded[0][0], [own for _, own in encoded]
    longest, rates = max(map(len, ids)), []
    with torch.inference_mode():
        backbone._prefill(header, ids, 8)
        for _ in range(rounds * 2):
            rate = matmul_rate()
            took = timeit(lambda: backbone._prefill(header, ids, 8), number=1)
            tokens = len(ids) * longest
            body = matrices(backbone.model) - backbone.model.lm_head.weight.numel()
            seen = len(header) + (longest + 1) / 2
            attention = 4 * config.hidden_size * config.num_hidden_layers * seen
            flops = tokens * (2 * body + attention)
            rates.append((flops / took / rate, tokens / took, rate))
    share, speed, rate = (statistics.median(column) for column in zip(*rates, strict=True))
    print(f"  {speed:.0f} tokens/s, {share:.0%} of {rate / 1e9:.0f} GFLOP/s (goal 60%)")


def decode(backbone, corpus, questions, rounds) -> None:
    """Tokens a second at batch 32, over what bytes and products allow."""
    prompts = [answer_prompt(q.question) for q in questions[:32]]
    one = replace(ENDLESS, max_new_tokens=1)
    backbone.ends, shares = frozenset(), []
    backbone.generate(prompts, one)
    for _ in range(rounds * 2):
        rate, speed = matmul_rate(), bandwidth()
        took = timeit(lambda: backbone.generate(prompts, ENDLESS), number=1)
        took -= timeit(lambda: backbone.generate(prompts, one), number=1)
        step = took / (ENDLESS.max_new_tokens - 1)
        size = matrices(backbone.model)
        read, multiply = 2 * size / speed, 2 * size * len(prompts) / rate
        shares.append((len(prompts) / step, (read + multiply) / step, max(read, multiply) / step))
    tokens, apart, overlapped = (statistics.median(c) for c in zip(*shares, strict=True))
    print(
        f"  {tokens:.0f} tokens/s at batch {len(prompts)}; {apart:.0%} of reading the weights and"
    )
    print(f"  then multiplying (goal 45%); {overlapped:.0%} if the two overlapped perfectly")


def main() -> None:
    """Run the parts that were asked for."""
    parts = {"loop": loop, "taps": taps, "prefill": prefill, "decode": decode}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    parser.add_argument("--profile", default="pocket")
    parser.add_argument("--n", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    backbone = Backbone.load(profiles.get(options.profile))
    corpus, questions = data.corpus("atlas"), data.load("atlas", "test")[: options.n]
    for name in options.parts or parts:
        print(f"{name}: {parts[name].__doc__}", flush=True)
        parts[name](backbone, corpus, questions, options.rounds)


if __name__ == "__main__":
    main()
