"""The best and the worst order, against all orders there are."""

from itertools import permutations

import pytest
import torch

from veridical.metrics.aopc import attainable_bounds


def game_of(parts, seed):
    """A game of several documents, each with any fall for any set of parts."""
    generator = torch.Generator().manual_seed(seed)
    tables = torch.rand(len(parts), 2 ** max(parts), generator=generator, dtype=torch.double)
    asked = []

    def fall(document, gone):
        asked.append(len(document))
        return tables[document, (gone.long() * 2 ** torch.arange(gone.shape[1])).sum(1)]

    return fall, tables, asked


def every_order(table, parts):
    """The mean falls of all orders."""
    return [
        sum(table[sum(2**part for part in order[: step + 1])].item() for step in range(parts)) / parts
        for order in permutations(range(parts))
    ]


PARTS = [5, 3, 1, 6]


@pytest.mark.parametrize("seed", range(4))
def test_few_parts_are_exact(seed):
    game, tables, asked = game_of(PARTS, seed)
    found = attainable_bounds(game, torch.tensor(PARTS), exact=6, beam=1, tried=9)
    for at, parts in enumerate(PARTS):
        falls = every_order(tables[at], parts)
        assert found.best[at].item() == pytest.approx(max(falls))
        assert found.worst[at].item() == pytest.approx(min(falls))
    assert asked == [sum(2**parts - 1 for parts in PARTS)]  # one call, both ends, all documents


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_that_is_wide_enough_is_exact(seed):
    game, tables, asked = game_of(PARTS, seed)
    found = attainable_bounds(game, torch.tensor(PARTS), exact=0, beam=64, tried=9)
    for at, parts in enumerate(PARTS):
        falls = every_order(tables[at], parts)
        assert found.best[at].item() == pytest.approx(max(falls))
        assert found.worst[at].item() == pytest.approx(min(falls))
    assert len(asked) == max(PARTS)  # a call per step, for all documents and both ends


@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_finds_orders_that_exist(seed):
    game, tables, _ = game_of(PARTS, seed)
    narrow, wide = (attainable_bounds(game, torch.tensor(PARTS), exact=0, beam=beam, tried=9) for beam in (1, 4))
    for at, parts in enumerate(PARTS):
        falls = every_order(tables[at], parts)
        for found in (narrow, wide):
            assert min(abs(found.best[at].item() - fall) for fall in falls) < 1e-9
            assert min(abs(found.worst[at].item() - fall) for fall in falls) < 1e-9
    assert (wide.best - wide.worst).mean() >= (narrow.best - narrow.worst).mean()


def test_a_search_of_one_document_is_the_same_beside_others():
    game, _, _ = game_of(PARTS, 0)
    together = attainable_bounds(game, torch.tensor(PARTS), exact=2, beam=2, tried=2)
    for at, parts in enumerate(PARTS):
        counts = torch.zeros(len(PARTS), dtype=torch.long)
        counts[at] = parts
        alone = attainable_bounds(game, counts, exact=2, beam=2, tried=2)
        assert alone.best[at] == together.best[at]
        assert alone.worst[at] == together.worst[at]


def test_no_parts_ask_nothing():
    game, _, asked = game_of([1], 0)
    found = attainable_bounds(game, torch.zeros(1, dtype=torch.long), exact=4, beam=2, tried=9)
    assert found.best.item() == found.worst.item() == 0
    assert asked == []
