"""Packing: from a list of prompts to batches that fit the machine, and back to the list's order."""

import torch
from tqdm.auto import tqdm


def pack(prompts, encoder, profile, limit: int, room: int, what: str):
    """Batches of similar length that share a header: (header, [(index, ids), …]).

    Every prompt must leave `room` within the model's `limit` of tokens; else a ValueError says
    which does not. A bar says `what` is being done, once it has taken two seconds.
    """
    groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
    for index, prompt in enumerate(prompts):
        header, ids = encoder.prompt(prompt)
        if len(header) + len(ids) + room > limit:
            raise ValueError(
                f"prompt {index} has {len(header) + len(ids)} tokens and {room} may follow, "
                f"but {profile.name} reads {limit}: shorten the question or the passages"
            )
        groups.setdefault(header, []).append((index, ids))
    with tqdm(total=len(prompts), desc=what, unit="prompt", delay=2, leave=False) as progress:
        for header, members in groups.items():
            members.sort(key=lambda member: -len(member[1]))
            while members:
                size = max(1, min(profile.max_batch, profile.batch_tokens // len(members[0][1])))
                batch, members = members[:size], members[size:]
                yield header, batch
                progress.update(len(batch))


def in_order(batches) -> list:
    """The results of all batches, in the order of their indices."""
    return [result for _, result in sorted(sum(batches, []), key=lambda pair: pair[0])]


def pad(rows: list[list[int]], device) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows padded on the left to one length, at least 1: tokens and validity (B, T)."""
    longest = max(1, *map(len, rows))
    tokens = torch.zeros(len(rows), longest, dtype=torch.long, device=device)
    valid = torch.zeros_like(tokens, dtype=torch.bool)
    for row, ids in enumerate(rows):
        tokens[row, longest - len(ids) :] = torch.tensor(ids, dtype=torch.long)
        valid[row, longest - len(ids) :] = True
    return tokens, valid
