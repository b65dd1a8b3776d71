"""The failure space: hidden states of questions that stay wrong, and what their shape can prove."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import permutation_test
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

AXES = 50  # principal components that are kept: t-SNE and k-means read no more


@dataclass(frozen=True, eq=False)
class Space:
    """The axes of the failures as they are (condition A), and the two clusters that lie in it.

    States of other conditions are brought onto the same axes, so that a move is a move. Source:
    Skill-RAG v1 §4.3, which shows t-SNE pictures and gives no axes. Taught in chapter 07.
    """

    scaler: StandardScaler
    pca: PCA
    clusters: KMeans

    def axes(self, states: np.ndarray) -> np.ndarray:
        """Pooled states (n, L, d_model) on the principal axes: shape (n, AXES) at most."""
        return self.pca.transform(self.scaler.transform(states.reshape(len(states), -1)))

    def cluster(self, states: np.ndarray) -> np.ndarray:
        """The cluster, 0 or 1, that each reply's states lie nearest to: shape (n,)."""
        return self.clusters.predict(self.axes(states))


def fit(states: np.ndarray, seed: int = 0) -> Space:
    """Standardise the states (n, L, d_model), find their axes, and split them in two by k-means."""
    flat = states.reshape(len(states), -1).astype(np.float64)  # (n, L * d_model)
    scaler = StandardScaler().fit(flat)
    pca = PCA(min(AXES, *flat.shape), random_state=seed).fit(scaler.transform(flat))
    x = pca.transform(scaler.transform(flat))
    return Space(scaler, pca, KMeans(2, n_init=10, random_state=seed).fit(x))


def separation(x: np.ndarray, seed: int = 0, n: int = 99) -> tuple[float, float]:
    """How well two clusters describe the points (n_points, n_axes), and how surprising that is.

    The mean silhouette of a split in two by k-means, and its p-value: the share of n Gaussian
    clouds of the same spread along the same axes whose split looks as good. Any cloud can be cut
    in two, so a silhouette alone says nothing.
    """
    rng = np.random.default_rng(seed)
    seen, spread = _silhouette(x, seed), x.std(0)
    clouds = [_silhouette(rng.normal(size=x.shape) * spread, seed) for _ in range(n)]
    return seen, float((1 + sum(cloud >= seen for cloud in clouds)) / (1 + n))


def dissolution(before, after, seed: int = 0, n: int = 99) -> tuple[float, float]:
    """How much less clearly two clusters describe the points than they did, and a p-value.

    The mean silhouette of as many points drawn from `before` (n_before, n_axes) as there are in
    `after` (n_after, n_axes; no more of them), less that of `after`. The p-value is the share of n
    such draws that look no better than `after`: fewer points alone can blur two clusters.
    """
    rng, seen = np.random.default_rng(seed), _silhouette(after, seed)
    draws = [rng.choice(len(before), len(after), replace=False) for _ in range(n)]
    drawn = [_silhouette(before[rows], seed) for rows in draws]
    p = (1 + sum(silhouette <= seen for silhouette in drawn)) / (1 + n)
    return float(np.mean(drawn) - seen), float(p)


def _silhouette(points, seed):
    halves = KMeans(2, n_init=10, random_state=seed).fit_predict(points)
    return float(silhouette_score(points, halves))


def agreement(clusters, types, seed: int = 0, n: int = 999) -> tuple[float, float]:
    """Do clusters follow the certified types? The adjusted Rand index, and its permutation p-value.

    The index is 1 for the same partition and 0 on average for a random one.
    """
    rng, clusters = np.random.default_rng(seed), np.asarray(clusters)
    seen = adjusted_rand_score(types, clusters)
    mixed = [adjusted_rand_score(types, rng.permutation(clusters)) for _ in range(n)]
    return float(seen), float((1 + sum(m >= seen for m in mixed)) / (1 + n))


def shrinkage(before, after, seed: int = 0, n: int = 9999) -> tuple[float, float]:
    """How much smaller a cluster became: the share of questions that it lost, and a p-value.

    `before` and `after` say of each question whether it is a failure in that cluster, shape (n,).
    The p-value (one-sided) is from swapping the two within questions.
    """
    pair = np.asarray(before, float), np.asarray(after, float)
    test = permutation_test(
        pair, lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples",
        alternative="greater", n_resamples=n, vectorized=True, rng=seed,
    )  # fmt: skip
    return float(test.statistic), float(test.pvalue)


def tsne(x: np.ndarray, perplexity: float, seed: int, init: str = "pca") -> np.ndarray:
    """The points (n_points, n_axes) laid out in a plane by t-SNE: shape (n_points, 2).

    Started at the first two principal axes every seed gives the same picture; `init="random"`
    shows how much a picture owes to its seed. It differs between platforms; distances between far
    groups, and their sizes, mean nothing.
    """
    return TSNE(2, perplexity=perplexity, init=init, random_state=seed).fit_transform(x)
