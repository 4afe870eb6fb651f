"""Which units are evidence."""

import random

import pytest
import torch

from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.data import load
from veridical.masking import Case
from veridical.metrics.evidence import gold, judged, kept, marked
from veridical.testing import pair_classifier


def test_a_unit_is_evidence_when_it_shares_a_character_with_some(marked_case):
    case = marked_case("01011", "10")
    assert gold(case).long().tolist() == [[0, 1, 0, 1, 1], [1, 0, 0, 0, 0]]


@pytest.mark.parametrize("axes", [1, 2])
def test_all_pairs_at_once_are_as_pair_by_pair(axes):
    chance = random.Random(axes)

    def unit():
        start = [chance.randrange(8) for _ in range(axes)]
        return Unit(chance.choice("ab"), (*start, *(at + chance.randrange(1, 4) for at in start)), "")

    for _ in range(50):
        units, evidence = ([unit() for _ in range(chance.randrange(9))] for _ in range(2))
        assert marked(units, evidence).tolist() == [any(map(each.overlaps, evidence)) for each in units]


def test_a_field_has_its_own_units():
    classifier, _ = pair_classifier()
    evidence = (Unit(PAIR, (0, 4), "dull"),)
    case = Case.bind(classifier, [Example("1", {TEXT: "dull movie", PAIR: "dull"}, evidence=evidence)])
    assert gold(case).tolist() == [[False, False, True]]
    assert judged(case, "text").tolist() == [[True, True, False]]
    assert judged(case, "text_pair").tolist() == [[False, False, True]]
    assert judged(case, "all").all()


def test_planted_images_have_evidence():
    from veridical.models.new import start

    data = load("planted-images(train=3):train")
    case = Case.bind(start("tiny", data.examples, data.labels), data.examples)
    assert torch.equal(gold(case).any(1), torch.ones(3, dtype=torch.bool))


WORDS = ("The", "film", "isn’t", "GOOD", "...", "7")
UNITS = [Unit(TEXT, (at, at + 1), word) for at, word in enumerate(WORDS)]


def test_filters():
    evidence = [Unit(TEXT, (0, 2), "The film")]
    assert kept("all", UNITS, evidence).all()
    assert kept("rationale", UNITS, evidence).tolist() == [True, True, False, False, False, False]
    assert kept("no-stop-words", UNITS, evidence).tolist() == [False, True, False, True, False, True]
