import numpy as np
import pytest
import torch

from veridical.core.values import Example
from veridical.metrics.similarity import (
    NOBODY,
    Encoder,
    Lexical,
    Semantic,
    incidence,
    jaccard,
    load_encoder,
    nearest,
    ngrams,
)
from veridical.testing import pair_classifier, text_classifier

WHOLE = slice(None)


def runs(text):
    return [text.split()]


def test_known_numbers():
    one, other = runs("a b c d e"), runs("a b c x e")
    sets = [incidence([ngrams(one, count), ngrams(other, count)]) for count in (1, 2, 3, 4)]
    assert [float(jaccard(each[0], each[1])[0]) for each in sets] == pytest.approx([2 / 3, 1 / 3, 1 / 5, 0])
    assert Lexical.of([one, other])(WHOLE)[0, 1] == pytest.approx(1.2)
    assert Lexical.of([one, other], "mean")(WHOLE)[0, 1] == pytest.approx(0.3)


def test_the_mean_is_over_the_orders_that_both_have():
    texts = [runs("a b"), runs("a b c d"), runs("")]
    found = Lexical.of(texts, "mean")(WHOLE)
    assert found[0, 1] == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert found[0, 0] == found[1, 1] == 1
    assert found[2].tolist() == [0, 0, 0]


def test_ngrams_stay_in_their_run():
    assert ngrams([["a", "b"], ["c"]], 2) == {("a", "b")}
    assert ngrams([["a", "b"], ["c"]], 1) == {("a",), ("b",), ("c",)}


def test_products_are_as_sets():
    chance = np.random.RandomState(0)
    texts = [[list(chance.choice(list("abcdef"), chance.randint(0, 12)))] for _ in range(30)]
    found = Lexical.of(texts)(slice(10, 20))
    for row, one in enumerate(texts[10:20]):
        for column, other in enumerate(texts):
            pairs = [(ngrams(one, count), ngrams(other, count)) for count in (1, 2, 3, 4)]
            assert found[row, column] == pytest.approx(sum(len(a & b) / max(1, len(a | b)) for a, b in pairs))


def test_per_label_and_pooled():
    # The first explanation has `great` high and `movie` low, the second has both high.
    labelled = incidence([{(4, "great"), (3, "movie")}, {(4, "great"), (4, "movie")}])
    pooled = incidence([{(3, "great"), (3, "movie")}] * 2)
    assert jaccard(labelled[0], labelled[1]) == pytest.approx([1 / 3])
    assert jaccard(pooled[0], pooled[1]) == pytest.approx([1])


def test_empty_sets_share_nothing():
    sets = incidence([set(), set()])
    assert jaccard(sets[0], sets[1]).tolist() == [0]


def test_cosine():
    found = Semantic(np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 0.0]]))(slice(0, 2))
    assert found == pytest.approx(np.array([[1, 0.5**0.5, 0], [0.5**0.5, 1, 0]]))


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier])
def test_a_vector_is_the_sum_over_the_tokens(sample):
    classifier, examples = sample()
    found = Encoder(classifier).vectors(examples)
    for example, vector in zip(examples, found, strict=True):
        with torch.no_grad(), classifier.evaluating():
            hidden = classifier.run(classifier.encode([example]).rows, hidden=True).hidden
        np.testing.assert_allclose(vector, hidden[-1][0].sum(0), atol=1e-5)


def test_windows_of_a_long_text_are_added():
    classifier, examples = text_classifier(max_length=8, long="window")
    assert len(classifier.encode(examples).rows) > len(examples)
    assert Encoder(classifier).vectors(examples).shape[0] == len(examples)


def test_texts_are_read_once():
    classifier, examples = text_classifier()
    encoder = Encoder(classifier)
    first = encoder.vectors(examples)
    kept = dict(encoder.known)
    again = encoder.vectors([Example.of(examples[1].inputs["text"], "other id"), *examples])
    assert np.array_equal(again[1:], first)
    assert np.array_equal(again[0], first[1])
    assert all(encoder.known[key] is vector for key, vector in kept.items())


def test_any_folder_is_an_encoder(tmp_path):
    classifier, examples = text_classifier()
    classifier.save(tmp_path)
    loaded = load_encoder(str(tmp_path))
    assert load_encoder(str(tmp_path)) is loaded
    np.testing.assert_allclose(loaded.vectors(examples), Encoder(classifier).vectors(examples), atol=1e-5)


def test_the_most_alike_others():
    alike = np.array([[9.0, 1.0, 2.0, 3.0], [1.0, 9.0, 4.0, 4.0], [2.0, 4.0, 9.0, 0.0], [3.0, 4.0, 0.0, 9.0]])
    index, similarity = nearest(lambda part: alike[part].copy(), 4, 2)
    assert index.tolist() == [[3, 2], [2, 3], [1, 0], [1, 0]]  # of equals the first
    assert similarity.tolist() == [[3, 2], [4, 4], [4, 2], [4, 3]]


def test_too_few_others():
    index, similarity = nearest(lambda part: np.ones((2, 2))[part].copy(), 2, 3)
    assert index.tolist() == [[1, NOBODY, NOBODY], [0, NOBODY, NOBODY]]
    assert np.isnan(similarity[:, 1:]).all()
    assert nearest(lambda part: np.ones((1, 1)), 1, 2)[0].tolist() == [[NOBODY, NOBODY]]


def test_portions_change_nothing():
    size = 1300  # more than fit in one portion
    points = np.random.RandomState(0).rand(size)

    def similarity(part):
        asked.append(part)
        return -np.abs(points[part, None] - points)

    asked = []
    index, _ = nearest(similarity, size, 1)
    assert len(asked) > 1
    distance = np.abs(points[:, None] - points) + np.diag(np.full(size, np.inf))
    assert index[:, 0].tolist() == distance.argmin(1).tolist()


def test_old_texts_are_forgotten(monkeypatch):
    monkeypatch.setattr("veridical.metrics.similarity._REMEMBER", 2)
    classifier, examples = text_classifier()
    encoder = Encoder(classifier)
    first = encoder.vectors(examples[:3])
    assert len(encoder.known) == 2
    np.testing.assert_allclose(encoder.vectors(examples[:3]), first, atol=1e-5)


def test_many_texts_are_read_in_parts(monkeypatch):
    classifier, examples = text_classifier()
    whole = Encoder(classifier).vectors(examples)
    monkeypatch.setattr("veridical.metrics.similarity._AT_ONCE", 1)
    np.testing.assert_allclose(Encoder(classifier).vectors(examples), whole, atol=1e-5)
