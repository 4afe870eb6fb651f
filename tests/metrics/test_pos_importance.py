from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from veridical.core.errors import InputError, UsageError
from veridical.core.example import PAIR, TEXT, Example
from veridical.masking import Case
from veridical.metrics import PosImportance, judge
from veridical.metrics.tagging import OPEN_CLASS, TAGS
from veridical.testing import check_metric, image_classifier, pair_classifier, text_classifier

pytest.importorskip("spacy")


@dataclass
class Pupil:
    """Binds a text, or a pair of texts, to a small model."""

    sample: Callable = text_classifier

    def __call__(self, *texts):
        inputs = dict(zip((TEXT, PAIR), texts, strict=False))
        return Case.bind(self.sample()[0], [Example("1", inputs)])


def defined(found):
    return {tag: numbers.item() for tag, numbers in found.details.items() if not numbers.isnan().all()}


def test_equal_scores_give_every_kind_the_same():
    case = Pupil()("Alice sees a very old movie .")
    found = judge(PosImportance(), case, torch.full((1, 7), -3.0))
    assert set(found.details) == set(TAGS)
    assert defined(found) == pytest.approx(
        dict.fromkeys(("PROPN", "VERB", "DET", "ADV", "ADJ", "NOUN", "PUNCT"), 1 / 7)
    )
    assert found.values.item() == pytest.approx(5 / 7)


def test_importance_is_absolute_and_a_mean_per_word():
    case = Pupil()("the old movie and the new movie")
    found = judge(PosImportance(), case, torch.tensor([[1.0, -4.0, 1.0, 0.0, 3.0, 0.0, 1.0]]))
    assert defined(found) == pytest.approx({"DET": 0.2, "ADJ": 0.2, "NOUN": 0.1, "CCONJ": 0.0})
    assert found.values.item() == pytest.approx(0.6)


def test_both_texts_of_a_pair_are_tagged():
    found = judge(PosImportance(), Pupil(pair_classifier)("old movie", "the"), torch.tensor([[1.0, 1.0, 2.0]]))
    assert defined(found) == pytest.approx({"ADJ": 0.25, "NOUN": 0.25, "DET": 0.5})


def test_no_importance_is_undefined():
    found = judge(PosImportance(), Pupil()("old movie"), torch.zeros(1, 2))
    assert found.values.isnan().all()
    assert defined(found) == {}


def test_images_are_refused():
    classifier, examples = image_classifier()
    case = Case.bind(classifier, examples)
    assert "text" in PosImportance.needs
    with pytest.raises(InputError, match="there is no text, only: image"):
        PosImportance()(case, torch.ones(case.live.shape))


def test_an_unknown_tagger_is_named():
    with pytest.raises(UsageError, match="unknown tagger 'spacey'. Did you mean 'spacy'?"):
        PosImportance(tagger="spacey")(Pupil()("old movie"), torch.ones(1, 2))


def test_open_classes_are_tags():
    assert set(OPEN_CLASS) < set(TAGS)


def test_contract():
    check_metric(PosImportance())
