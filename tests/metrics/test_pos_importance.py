from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from veridical.core.errors import InputError, UsageError
from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.masking import Case
from veridical.metrics import PosImportance, measure
from veridical.metrics.pos_importance import OPEN_CLASS, TAGGERS, TAGS, SpacyTagger, tags
from veridical.models.text_rows import word_spans
from veridical.testing import check_metric, image_classifier, pair_classifier, text_classifier

pytest.importorskip("spacy")

TEXT_OF_MANY_KINDS = "Don't miss this well-made film, Alice!"


def units_of(text):
    return [Unit(TEXT, span, text[slice(*span)]) for span in word_spans(text)]


def test_words_get_the_tag_of_the_characters_they_share():
    found = tags(TAGGERS.create("spacy"), TEXT_OF_MANY_KINDS, units_of(TEXT_OF_MANY_KINDS))
    expected = ["AUX", "VERB", "DET", "ADV", "PUNCT", "VERB", "NOUN", "PUNCT", "PROPN", "PUNCT"]
    assert found == expected
    assert set(found) <= set(TAGS)


def test_a_unit_that_the_tagger_does_not_know_is_something_else():
    class Silent:
        def __call__(self, text):
            return ()

    class Spaces:
        def __call__(self, text):
            return ((0, len(text), "SPACE"),)

    assert tags(Silent(), "a b", units_of("a b")) == ["X", "X"]
    assert tags(Spaces(), "a b", units_of("a b")) == ["X", "X"]


def test_parts_of_words_get_the_tag_of_the_word():
    pieces = [Unit(TEXT, (0, 3), "mov"), Unit(TEXT, (3, 6), "ies"), Unit(TEXT, (7, 11), "rock")]
    found = tags(SpacyTagger(), "movies rock", pieces)
    assert found[0] == found[1] == "NOUN"


def test_a_missing_tagger_says_what_to_install():
    with pytest.raises(UsageError, match=r'cannot be loaded: .*Run: pip install "veridical\[pos\]"'):
        SpacyTagger(model="no_such_tagger")("a text")


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
    found = measure(PosImportance(), case, torch.full((1, 7), -3.0))
    assert set(found.details) == set(TAGS)
    assert defined(found) == pytest.approx(
        dict.fromkeys(("PROPN", "VERB", "DET", "ADV", "ADJ", "NOUN", "PUNCT"), 1 / 7)
    )
    assert found.values.item() == pytest.approx(5 / 7)


def test_importance_is_absolute_and_a_mean_per_word():
    case = Pupil()("the old movie and the new movie")
    found = measure(PosImportance(), case, torch.tensor([[1.0, -4.0, 1.0, 0.0, 3.0, 0.0, 1.0]]))
    assert defined(found) == pytest.approx({"DET": 0.2, "ADJ": 0.2, "NOUN": 0.1, "CCONJ": 0.0})
    assert found.values.item() == pytest.approx(0.6)


def test_both_texts_of_a_pair_are_tagged():
    found = measure(PosImportance(), Pupil(pair_classifier)("old movie", "the"), torch.tensor([[1.0, 1.0, 2.0]]))
    assert defined(found) == pytest.approx({"ADJ": 0.25, "NOUN": 0.25, "DET": 0.5})


def test_no_importance_is_undefined():
    found = measure(PosImportance(), Pupil()("old movie"), torch.zeros(1, 2))
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
