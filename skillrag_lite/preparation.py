"""Before a test split is touched: gate, router, classifier and thresholds, from train and dev."""

from dataclasses import dataclass, replace

from . import adaptive_rag, calibration, data, probe_router, text_classifier, training
from .data import Question
from .lab import Lab, trained
from .methods import ADAPTIVE, ADAPTIVE_TEXT, CALIBRATED, METHODS, ROUTER
from .probe import stack
from .recorder import Recorder
from .retrieve import BM25
from .training import Examples

TRAIN, DEV = 150, 60  # questions of each dataset, where not all of them are taken
SWEPT = 30  # of each benchmark's dev: a loop asks ten times what a gate's training asks
BIAS = {"nq": adaptive_rag.B, "triviaqa": adaptive_rag.B, "hotpotqa": adaptive_rag.C}


@dataclass(frozen=True)
class Part:
    """A dataset's share: a lab over its corpus, its questions, and Adaptive-RAG's bias label.

    Thresholds are swept on the first `swept` questions of dev, or on all.
    """

    lab: Lab
    train: list[Question]
    dev: list[Question]
    bias: str | None = None
    swept: int | None = None

    def answered(self, split: str) -> Examples:
        """The split's questions under both conditions."""
        return training.examples(getattr(self, split), self.lab.backbone, self.lab.retriever)

    def silver(self, seen: Examples) -> list[str]:
        """Adaptive-RAG's label of each of the answered questions."""
        return adaptive_rag.label(
            seen.questions, seen.closed, seen.retrieved, self.lab.backbone, self.lab.retriever,
            self.bias,
        )  # fmt: skip


def parts(backbone: Recorder, dataset: str) -> list[Part]:
    """What a run on that dataset is prepared with: the Atlas itself, or the in-domain benchmarks.

    No out-of-domain set trains a probe or moves a threshold (Skill-RAG v2 §4.1). All parts share
    the one model.
    """
    folder = trained(backbone.profile.name, dataset)
    names, swept = (("atlas",), None) if dataset == "atlas" else (data.IN_DOMAIN, SWEPT)
    return [
        Part(Lab(backbone, BM25(data.corpus(name)), folder), data.load(name, "train")[:TRAIN],
             data.load(name, "dev")[:DEV], BIAS.get(name), swept)
        for name in names
    ]  # fmt: skip


def whole_atlas(backbone: Recorder) -> Part:
    """All of the Atlas's train and dev, which a router needs: only some of them fail."""
    [part] = parts(backbone, "atlas")
    return replace(part, train=data.load("atlas", "train"), dev=data.load("atlas", "dev"))


def prepare(parts: list[Part]) -> None:
    """Train the gate and Adaptive-RAG's classifier, and sweep the thresholds.

    Writes all of it into the labs' `trained` folder. Resumes where an earlier run stopped.
    """
    folder = parts[0].lab.trained
    print("train and dev: closed book and single step", flush=True)
    train, dev = ([part.answered(split) for part in parts] for split in ("train", "dev"))
    training.train_gate(_all(train), _all(dev)).save(folder)
    print("train and dev: the cheapest strategy that answers each question", flush=True)
    if source := parts[0].lab.backbone.profile.text_classifier:
        classifier = text_classifier.fit(source, *_texts(parts, train), *_texts(parts, dev))
        classifier.save(folder / ADAPTIVE_TEXT)
    else:
        classifier = adaptive_rag.train(*_looks(parts, train), *_looks(parts, dev))
        classifier.save(folder / ADAPTIVE)
    print("dev: the thresholds", flush=True)
    asked = [(part.dev[: part.swept], part.lab) for part in parts]
    sweeps = {name: calibration.sweep(METHODS[name], asked) for name in CALIBRATED}
    calibration.save(folder, sweeps)


def prepare_router(atlas: Part) -> None:
    """Train the probe router on the Atlas, the only dataset whose failures are certified."""
    print("the Atlas's train and dev, for the probe router: single step", flush=True)
    lab, asked = atlas.lab, (atlas.train, atlas.dev)
    replies = [training.single_step(qs, lab.backbone, lab.retriever) for qs in asked]
    router = probe_router.train(atlas.train, replies[0], atlas.dev, replies[1])
    router.save(lab.trained / ROUTER)


def _all(each: list[Examples]) -> Examples:
    """The datasets' examples as one."""
    lists = ((e.questions, e.closed, e.retrieved) for e in each)
    return Examples(*(sum(parts, []) for parts in zip(*lists, strict=True)))


def _looks(parts, seen):
    """Question states and silver labels of all parts."""
    pairs = zip(parts, seen, strict=True)
    looks = [look for p, its in pairs for look in adaptive_rag.read(its.questions, p.lab.backbone)]
    return stack(looks), _silver(parts, seen)


def _texts(parts, seen):
    """The questions' words and silver labels of all parts."""
    return [q.question for its in seen for q in its.questions], _silver(parts, seen)


def _silver(parts, seen):
    return [label for p, its in zip(parts, seen, strict=True) for label in p.silver(its)]
