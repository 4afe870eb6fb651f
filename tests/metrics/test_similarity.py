import numpy as np
import pytest

from veridical.metrics.similarity import Lexical, Semantic, incidence, jaccard, ngrams

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
