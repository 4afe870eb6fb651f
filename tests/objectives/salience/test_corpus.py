"""Saliences that see the training data, and how it is read."""

import numpy as np
import pytest
import torch

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.models.new import start
from veridical.objectives.salience import SALIENCES, Corpus, Salience
from veridical.objectives.salience.base import counted, pieces_of, places_of, remembering
from veridical.testing import image_classifier, pair_classifier
from veridical.testing.families import FAMILIES, SENTENCES, family

TEXTS = {"good movie": "1", "bad movie": "0", "good good plot": "1", "bad plot": "0"}


@pytest.fixture(scope="module")
def corpus():
    examples = [Example(text, {"text": text}, label) for text, label in TEXTS.items()]
    return Corpus(start("tiny", examples, ["0", "1"]), examples)


def pieces_in(batch, words="all"):
    return pieces_of(batch, places_of(batch, words))


def scores(corpus, name, text):
    """The score of each word of a text, every word being one piece."""
    (pieces,) = Corpus(corpus.classifier, [Example("x", {"text": text}, "0")]).texts
    return dict(zip(text.split(), SALIENCES.create(name).fitted(corpus)(pieces).tolist(), strict=False))


def test_tf_idf(corpus):
    found = scores(corpus, "tf-idf", "good plot good")
    assert found == pytest.approx({"good": 0.894427, "plot": 0.447214}, abs=1e-6)
    assert scores(corpus, "tf-idf", "bad movie") == pytest.approx({"bad": 0.5**0.5, "movie": 0.5**0.5})


def test_chi2(corpus):
    found = scores(corpus, "chi2", "bad good movie plot")
    assert found == pytest.approx({"bad": 1.414214, "good": 1.601534, "movie": 0, "plot": 0.058514}, abs=1e-6)


@pytest.mark.parametrize("name", ["tf-idf", "chi2"])
def test_pieces_the_training_data_do_not_have_score_0(corpus, name):
    score = SALIENCES.create(name).fitted(corpus)
    assert score(np.array([0, 10**6])).tolist() == [0, 0]
    assert score(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("name", ["tf-idf", "chi2"])
def test_a_corpus_without_any_word(corpus, name):
    empty = Corpus(corpus.classifier, [Example(label, {"text": ""}, label) for label in "01"])
    assert SALIENCES.create(name).fitted(empty)(np.array([5])).tolist() == [0]


def test_uniform_and_random(corpus):
    pieces = np.array([5, 6, 7])
    assert SALIENCES.create("uniform").fitted(corpus)(pieces).tolist() == [1, 1, 1]
    first, other = (SALIENCES.create(f"random(seed={seed})").fitted(corpus) for seed in (0, 1))
    assert (first(pieces) == first(pieces.copy())).all()
    assert not (first(pieces) == other(pieces)).any()
    assert not (first(pieces) == first(pieces[::-1].copy())).any()


@pytest.mark.parametrize("name", list(SALIENCES))
@pytest.mark.parametrize("kind", FAMILIES)
def test_one_finite_score_for_each_piece_of_a_unit(kind, name):
    classifier = family(kind, max_length=12)
    examples = [Example(str(at), {"text": text}, ["neg", "pos"][at % 2]) for at, text in enumerate(SENTENCES)]
    batch = classifier.encode(examples)
    score = SALIENCES.create(name).fitted(Corpus(classifier, examples))
    for pieces, unit_of in zip(pieces_in(batch), batch.rows.unit_of, strict=True):
        assert len(pieces) == int((unit_of >= 0).sum()) > 0
        found = score(pieces)
        assert found.shape == pieces.shape
        assert np.isfinite(found).all()
        assert (score(pieces) == found).all()


def test_a_held_field_has_no_pieces():
    classifier, examples = pair_classifier(hold="text_pair")
    both, _ = pair_classifier()
    held = pieces_in(classifier.encode(examples))
    whole = pieces_in(both.encode(examples))
    assert all(
        (kept == full[: len(kept)]).all() and len(kept) < len(full) for kept, full in zip(held, whole, strict=True)
    )


@pytest.mark.parametrize("kind", FAMILIES)
def test_content_words_are_what_is_left_without_stop_words_and_punctuation(kind):
    classifier = family(kind)
    batch = classifier.encode(
        [Example("0", {"text": "Don't miss the gorgeous movie!"}), Example("1", {"text": "no, it is"})]
    )
    words = ["Don't", "miss", "the", "gorgeous", "movie", "!"]
    assert [unit.text for unit in batch.units[0]] == words
    content, places = (places_of(batch, words) for words in ("content", "all"))
    shown = [words[unit] for unit in batch.rows.unit_of[0][content[0]].unique().tolist()]
    assert shown == ["miss", "gorgeous", "movie"]
    assert not content[1].any()
    assert (content <= places).all()


def test_a_batch_without_any_word_has_no_content():
    batch = family("bert").encode([Example("0", {"text": ""})])
    assert not places_of(batch, "content").any()


def test_saliences_of_a_corpus_are_those_of_its_content_words(corpus):
    examples = [Example(text, {"text": f"the {text}, it is"}, label) for text, label in TEXTS.items()]
    wordy = Corpus(start("tiny", examples, ["0", "1"]), examples, "content")
    assert [len(text) for text in wordy.texts] == [len(text) for text in corpus.texts]
    (pieces,) = Corpus(wordy.classifier, [Example("x", {"text": "bad good movie plot"}, "0")]).texts
    found = SALIENCES.create("chi2(words=content)").fitted(wordy)(pieces).tolist()
    assert found == pytest.approx([1.414214, 1.601534, 0, 0.058514], abs=1e-6)


def test_windows_are_texts_of_their_own_with_the_label_of_the_whole():
    examples = [Example("long", {"text": "one two three four five six"}, "1"), Example("short", {"text": "one"}, "0")]
    classifier = start("tiny", examples, ["0", "1"], max_length=5, long="window")
    corpus = Corpus(classifier, examples)
    assert [len(text) for text in corpus.texts] == [3, 3, 1]
    assert corpus.labels.tolist() == [1, 1, 0]


def test_a_text_is_scored_once():
    asked = []

    def score(pieces):
        asked.append(pieces.tolist())
        return pieces / 2

    recall = remembering(score)
    for pieces in (np.array([1, 2]), np.array([2, 1]), np.array([1, 2])):
        assert recall(pieces).tolist() == (pieces / 2).tolist()
    assert asked == [[1, 2], [2, 1]]


def test_what_has_no_classes_or_no_pieces_is_refused():
    examples = [Example(str(number), {"text": "so so"}, number) for number in (0.0, 1.0)]
    with pytest.raises(UnsupportedError, match="no classes to compare"):
        SALIENCES.create("chi2").fitted(Corpus(start("tiny", examples, []), examples))
    classifier, images = image_classifier()
    with torch.no_grad(), pytest.raises(UnsupportedError, match="images do not have"):
        pieces_in(classifier.encode(images))
    with pytest.raises(UsageError, match="unknown salience 'text-rank'.*Did you mean 'textrank'"):
        SALIENCES.create("text-rank")


def test_a_salience_has_to_say_how_it_scores(corpus):
    with pytest.raises(NotImplementedError):
        Salience().fitted(corpus)


def test_a_corpus_is_read_in_parts_and_once(corpus, monkeypatch):
    monkeypatch.setattr("veridical.objectives.salience.base._AT_ONCE", 1)
    again = Corpus(corpus.classifier, corpus.examples)
    assert [text.tolist() for text in again.texts] == [text.tolist() for text in corpus.texts]
    assert again.labels.tolist() == corpus.labels.tolist() == [1, 0, 1, 0]
    assert again.texts is again.texts


def test_the_pieces_of_a_text_are_counted():
    ids, place, counts = counted(np.array([7, 3, 7, 7]))
    assert (ids.tolist(), place.tolist(), counts.tolist()) == ([3, 7], [1, 0, 1, 1], [1, 3])
