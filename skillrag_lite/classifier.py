"""A linear classifier: from a reply's hidden states to one of several named labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score


@dataclass(frozen=True)
class ClassifierConfig:
    """How the layers' states become one vector, and how little the weights are held back.

    `layers` averages them, (N, d_model), or sets them side by side, (N, L * d_model). `c` is
    scikit-learn's C. Both are ours, chosen on dev: no paper gives them.
    """

    layers: Literal["mean", "concat"] = "mean"
    c: float = 0.01

    def vectors(self, states: np.ndarray) -> np.ndarray:
        """One vector a reply from pooled states (N, L, d_model)."""
        return states.mean(1) if self.layers == "mean" else states.reshape(len(states), -1)


# The simplest first: it is kept where others do no better.
GRID = tuple(
    ClassifierConfig(layers, c)
    for layers in ("mean", "concat")
    for c in (0.0001, 0.001, 0.01, 0.1, 1.0)
)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A multinomial logistic regression over pooled states; the likeliest label is predicted.

    `weights` has shape (n_labels, n_inputs), `bias` (n_labels,). Taught in chapters 04 and 06.
    """

    labels: tuple[str, ...]
    config: ClassifierConfig
    weights: np.ndarray
    bias: np.ndarray

    def predict(self, states: np.ndarray) -> list[str]:
        """The label of each reply's pooled states (N, L, d_model).

        Raises ValueError where the states are not of the shape that it was trained on.
        """
        x = self.config.vectors(states)  # (N, n_inputs)
        if x.shape[1] != self.weights.shape[1]:
            raise ValueError(
                f"the classifier reads {self.weights.shape[1]} numbers a reply, these states have "
                f"{x.shape[1]}: it was trained with another model, train one for this profile"
            )
        logits = x @ self.weights.T + self.bias  # (N, n_labels)
        return [self.labels[best] for best in logits.argmax(1)]

    def save(self, path: str | Path) -> None:
        """Write the classifier as one .npz file of plain arrays."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:  # an open file: numpy adds no ending to the name
            np.savez(file, labels=np.array(self.labels), layers=self.config.layers,
                     c=self.config.c, weights=self.weights, bias=self.bias)  # fmt: skip

    @classmethod
    def load(cls, path: str | Path) -> "Classifier":
        """The classifier that `save` wrote; nothing in the file is ever run.

        Raises FileNotFoundError, or ValueError where the file is another one or is cut short.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no classifier at {path}: train one and save it")
        try:
            with np.load(path, allow_pickle=False) as held:
                config = ClassifierConfig(str(held["layers"]), float(held["c"]))
                return cls(tuple(held["labels"].tolist()), config, held["weights"], held["bias"])
        except Exception as error:  # zip, numpy and missing names each raise errors of their own
            raise ValueError(f"{path} holds no classifier ({error}): train one again") from None


def fit(states, labels, dev_states, dev_labels, grid=GRID) -> Classifier:
    """Train one classifier a setting of the grid; keep the best on dev by macro-averaged F1.

    `states` (N, L, d_model), `labels` N names. All labels weigh the same, in training as in the
    choice. A label that train never shows is never predicted. Raises ValueError where train shows
    one label only. Taught in chapters 04 and 06.
    """
    if len(set(labels)) < 2:
        raise ValueError("every train label is the same: a classifier needs two or more")

    def score(classifier):
        guesses = classifier.predict(dev_states)
        return f1_score(dev_labels, guesses, average="macro", zero_division=0)

    return max((_fit(states, labels, config) for config in grid), key=score)


def _fit(states, labels, config: ClassifierConfig) -> Classifier:
    x = config.vectors(np.asarray(states, dtype=np.float64))
    mean, std = x.mean(0), x.std(0) + 1e-6
    model = LogisticRegression(C=config.c, class_weight="balanced", max_iter=1000)
    model.fit((x - mean) / std, labels)
    coefficients, bias = model.coef_, model.intercept_
    if len(bias) == 1:  # of two labels, scikit-learn keeps only the second one's
        coefficients, bias = np.vstack([0 * coefficients, coefficients]), np.append(0, bias)
    weights = coefficients / std  # (n_labels, n_inputs), for states as they come
    parts = weights, bias - weights @ mean
    return Classifier(tuple(model.classes_.tolist()), config, *(np.float32(p) for p in parts))
