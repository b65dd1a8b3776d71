"""The recorder: a backbone with a memory. It asks the model only what the store does not hold."""

from collections.abc import Callable
from typing import Literal

from .attended import Attended
from .generation import Decoding, Generation, Scored
from .profiles import Profile
from .prompts import Prompt
from .store import Store, StoreError, key


class Recorder:
    """Answers prompts from the store, and from the model where the store is silent.

    `mode` is `auto`; `replay`, in which a miss is an error and no model is ever loaded; or `live`,
    in which the model is always asked and the store rewritten. Stands wherever a Backbone does.
    Taught in chapter 00.
    """

    def __init__(self, profile: Profile, store: Store,
                 mode: Literal["auto", "replay", "live"] = "auto",
                 load: Callable | None = None):  # fmt: skip
        self.profile, self.store, self.mode = profile, store, mode
        self._load, self._backbone = load, None
        self.seen: set[str] = set()  # keys that were asked for: what a recording must hold

    @property
    def backbone(self):
        """The model, loaded when it is first needed."""
        if self._backbone is None:
            if self._load is None:
                from .backbone import Backbone  # torch and transformers: not for a replay

                self._load = Backbone.load
            self._backbone = self._load(self.profile)
        return self._backbone

    def generate(self, prompts: list[Prompt], decoding: Decoding) -> list[Generation]:
        """As Backbone.generate; every finished batch is in the store before the next begins."""
        keys = [key(self.profile, prompt, decoding) for prompt in prompts]
        return self._through(keys, lambda p: self.backbone.batches(p, decoding), prompts)

    def score(self, prompts: list[Prompt], options: list[str]) -> list[Scored]:
        """As Backbone.score."""
        keys = [key(self.profile, prompt, list(options)) for prompt in prompts]
        return self._through(keys, lambda p: self.backbone.score_batches(p, options), prompts)

    def attention(self, prompts: list[Prompt], replies: list[Generation],
                  top_n: int) -> list[Attended]:  # fmt: skip
        """As Backbone.attention."""
        hows = [["attention", top_n, r.mark, r.answer_start, list(r.tokens)] for r in replies]
        keys = [key(self.profile, *asked) for asked in zip(prompts, hows, strict=True)]
        return self._through(
            keys, lambda p, r: self.backbone.attention_batches(p, r, top_n), prompts, replies
        )

    def _through(self, keys, ask, *asked):
        """Ask for what is missing, store it batch by batch, and return what the store holds.

        `asked` are the lists to ask with, the prompts first. Also what was just written is read
        back, so that a run and its replay agree.
        """
        missing = self._missing(keys, asked[0])
        if missing:
            for batch in ask(*([column[m] for m in missing] for column in asked)):
                self.store.put({keys[missing[i]]: row for i, row in batch})
        rows = {k: self.store.get(k) for k in dict.fromkeys(keys)}
        return [rows[k] for k in keys]

    def _missing(self, keys, prompts):
        """The places in `keys` to ask the model for, each key once."""
        self.seen |= set(keys)
        places = dict(zip(keys, range(len(keys)), strict=True))
        missing = [i for k, i in places.items() if self.mode == "live" or k not in self.store]
        if missing and self.mode == "replay":
            raise StoreError(
                f"{len(missing)} of {len(places)} replies are not in {self.store.path}, the first "
                f"for {prompts[missing[0]].ask[-60:]!r}: record them with `python -m skillrag_lite "
                f"record --profile {self.profile.name}`, or set MODE to 'auto' to ask the model"
            )
        return missing
