"""A classifier that reads the question's words: a T5, fine-tuned to write the label."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from sklearn.metrics import f1_score
from tqdm.auto import tqdm

LABELS = "labels.json"  # written last: where it is, all is there


@dataclass(frozen=True)
class FineTuning:
    """How the model is fine-tuned: after Adaptive-RAG (Jeong et al. 2024) and its authors' code.

    Their paper (§4.4) gives AdamW, `lr`, and the epoch that does best on validation questions;
    their code (github.com/starsuzi/Adaptive-RAG) `batch`, no weight decay, and runs of 15 to 40
    epochs whose rate falls to zero. Ours: one run at a constant rate, and the score on dev.
    """

    lr: float = 3e-5
    batch: int = 32
    epochs: int = 40
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """A text-to-text model and the labels that it was taught to write.

    Of the labels' first tokens, the one that it would rather begin with is predicted, as in the
    authors' code. Source: Adaptive-RAG §3.2. Taught in chapter 06.
    """

    labels: tuple[str, ...]
    model: torch.nn.Module
    tokenizer: object

    @torch.inference_mode()
    def predict(self, texts: list[str]) -> list[str]:
        """The label of each text."""
        self.model.eval()
        start, found = self.model.config.decoder_start_token_id, []
        for at in range(0, len(texts), FineTuning.batch):
            asked = self.encode(texts[at : at + FineTuning.batch])
            begin = torch.full_like(asked["input_ids"][:, :1], start)  # (batch, 1)
            logits = self.model(**asked, decoder_input_ids=begin).logits  # (batch, 1, n_vocabulary)
            best = logits[:, 0, self.first_tokens()].argmax(1)  # (batch,)
            found += [self.labels[i] for i in best]
        return found

    def first_tokens(self) -> list[int]:
        """The token that each label begins with."""
        return [self.tokenizer(label).input_ids[0] for label in self.labels]

    def encode(self, texts: list[str]):
        """The texts' tokens and the mask of their padding, each (N, n_tokens), on the device."""
        return self.tokenizer(texts, padding=True, return_tensors="pt").to(self.model.device)

    def save(self, folder: str | Path) -> None:
        """Write the model as safetensors, then all else as JSON."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        text = json.dumps(self.labels) + "\n"
        (Path(folder) / LABELS).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "TextClassifier":
        """The classifier that `save` wrote; nothing in the folder is ever run.

        Raises FileNotFoundError, or ValueError where the folder's files are damaged.
        """
        held = Path(folder) / LABELS
        if not held.is_file():
            raise FileNotFoundError(
                f"there is no text classifier in {folder}: train one and save it"
            )
        try:
            return cls(tuple(json.loads(held.read_text(encoding="utf-8"))), *_open(folder))
        except (OSError, ValueError, SafetensorError) as error:
            raise ValueError(f"{folder} holds no text classifier ({error}): train again") from None


def fit(source: str | Path, texts, labels, dev_texts, dev_labels,
        config: FineTuning = FineTuning()) -> TextClassifier:  # fmt: skip
    """Fine-tune the model of a hub id or a local folder; keep the epoch with the best dev F1.

    The loss is the cross-entropy of the label's tokens, F1 is macro-averaged. A label that train
    never shows is never predicted. On a CPU, one seed gives one classifier. Raises ValueError
    where train shows one label only, or two that begin with the same token.
    Source: Adaptive-RAG §3.2. Taught in chapter 06.
    """
    names = tuple(sorted(set(labels)))
    if len(names) < 2:
        raise ValueError("every train label is the same: a classifier needs two or more")
    torch.manual_seed(config.seed)
    classifier = TextClassifier(names, *_open(source))
    if len(set(classifier.first_tokens())) < len(names):
        raise ValueError(f"two of the labels {names} begin with the same token: rename them")
    model = classifier.model
    optimizer = torch.optim.AdamW(model.parameters(), config.lr, weight_decay=0.0)
    best, best_weights = -1.0, None
    for _ in tqdm(range(config.epochs), desc="text classifier", unit="epoch"):
        model.train()
        for rows in torch.randperm(len(texts)).split(config.batch):
            loss = _loss(classifier, [texts[i] for i in rows], [labels[i] for i in rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        guesses = classifier.predict(dev_texts)
        score = f1_score(dev_labels, guesses, average="macro", zero_division=0)
        if score > best:  # kept off the GPU, where the answering model needs the room
            best = score
            best_weights = {k: v.to("cpu", copy=True) for k, v in model.state_dict().items()}
    model.load_state_dict(best_weights)
    return classifier


def _loss(classifier, texts, labels):
    written = classifier.encode(labels)["input_ids"]  # (batch, n_label_tokens)
    written[written == classifier.tokenizer.pad_token_id] = -100  # padding is not to be learnt
    return classifier.model(**classifier.encode(texts), labels=written).loss


def _open(source):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # slow: not for a replay

    # Never a pickle; and in bfloat16, steps as small as these would be rounded away.
    how = {"dtype": torch.float32, "use_safetensors": True}
    model = AutoModelForSeq2SeqLM.from_pretrained(source, **how)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.to(device), AutoTokenizer.from_pretrained(source)
