"""Going on with a reply from a cut: what stands before it is kept, what follows is written anew."""

from dataclasses import replace

from .attended import forced_mark
from .generation import Decoding, Generation
from .prompts import QA, Prompt, answer_prompt

REST = replace(QA, states=False)  # of the reasoning, and an answer line
REST_OF_ANSWER = Decoding(max_new_tokens=QA.answer_tokens, mark="", states=False)


def continue_from(backbone, asked: list[tuple]) -> list[Generation]:
    """Write replies anew from a cut, with passages; returns the whole replies, without states.

    Each of `asked` is (question, reply, cut, passages). A cut is a token's number: what stands
    before that token is kept. A cut in the reasoning is followed by the rest of it and an answer
    line, one on the answer line (from `answer_start` on) by the rest of the answer: one batched
    call for each kind. `usage` is that call's. Taught in chapter 06.
    """
    whole = {}
    for decoding, answering in ((REST, False), (REST_OF_ANSWER, True)):
        rows = [i for i, (_, r, cut, _) in enumerate(asked) if (cut >= r.answer_start) is answering]
        prompts = [resume_prompt(*asked[i]) for i in rows]
        for i, new in zip(rows, backbone.generate(prompts, decoding) if rows else [], strict=True):
            _, reply, cut, _ = asked[i]
            whole[i] = splice(reply, cut, new)
    return [whole[i] for i in range(len(asked))]


def resume_prompt(question: str, reply: Generation, cut: int, passages: list) -> Prompt:
    """The prompt with passages whose reply begins with the first `cut` tokens of this one."""
    start = reply.answer_start
    lead = "".join(reply.tokens[: min(cut, start)])
    if cut >= start:
        lead += f"{forced_mark(reply)} {''.join(reply.tokens[start:cut]).strip()}".rstrip()
    return replace(answer_prompt(question, passages), lead=lead)


def splice(reply: Generation, cut: int, new: Generation) -> Generation:
    """The first `cut` tokens of a reply and then a continuation, as one Generation."""
    answering = cut >= reply.answer_start
    start = reply.answer_start if answering else cut + new.answer_start
    tokens = reply.tokens[:cut] + new.tokens
    return replace(
        reply if answering else new,  # who wrote the mark
        reasoning="".join(tokens[:start]).partition(reply.mark)[0].strip(),
        answer="".join(tokens[start:]).strip(),
        tokens=tokens,
        logprobs=reply.logprobs[:cut] + new.logprobs,
        entropies=reply.entropies[:cut] + new.entropies,
        answer_start=start,
        usage=new.usage,
        states={},
    )
