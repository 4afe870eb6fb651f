from __future__ import annotations

from dataclasses import replace

import torch

from veridical.models.batch import Rows
from veridical.models.classifier import average_windows


def rows() -> Rows:
    return Rows(
        {"input_ids": torch.tensor([[1, 2, 0, 0], [1, 2, 3, 4], [1, 2, 0, 0]])},
        torch.tensor([[0, 1, -1, -1], [0, 1, 2, 3], [0, 1, -1, -1]]),
        torch.tensor([0, 1, 2]),
        torch.tensor([2, 4, 2]),
    )


def test_selecting_cuts_the_padding_that_others_needed() -> None:
    part = rows().select(torch.tensor([2, 0]))
    assert part.inputs["input_ids"].tolist() == [[1, 2], [1, 2]]
    assert part.owner.tolist() == [2, 0]
    assert len(rows().select(torch.tensor([], dtype=torch.long))) == 0


def test_keys_are_equal_where_the_model_reads_the_same() -> None:
    first, other, again = rows().keys()
    assert first == again != other
    assert rows().select(torch.tensor([0])).keys() == [first]  # whatever stands beside it


def test_keys_tell_gates_and_fillings_apart() -> None:
    gate = torch.full((3, 4), 0.5)
    variants = [
        rows(),
        replace(rows(), gate=gate),
        replace(rows(), gate=gate, fill="mask"),
        replace(rows(), gate=gate / 2),
    ]
    assert len({variant.keys()[0] for variant in variants}) == 4


def test_windows_vote_with_equal_weight() -> None:
    logits = torch.tensor([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]])
    owner = torch.tensor([0, 0, 1])
    assert average_windows(logits, owner, 2).tolist() == [[2.0, 1.0], [5.0, 5.0]]
    assert average_windows(logits, torch.arange(3), 3) is logits
