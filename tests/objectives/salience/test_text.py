"""TextRank: scores worked out independently, and what it does at the edges."""

import numpy as np
import pytest

from veridical.objectives.salience import SALIENCES, TextRank

CAT = np.array([0, 1, 2, 3, 0, 4])  # the cat sat on the mat


def ranks(**settings):
    pairs = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])
    source, target = np.concatenate([pairs, pairs[:, ::-1]]).T
    return TextRank(**settings).ranks((source, target), 5)


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        (1, [0.858333, 0.858333, 1.425, 1.283333, 0.575]),
        (2, [0.918542, 0.918542, 1.425, 1.0425, 0.695417]),
        (10, [0.957669, 0.957669, 1.421253, 1.058114, 0.605295]),
        (1000, [0.959109, 0.959109, 1.417015, 1.062994, 0.601773]),
    ],
)
def test_a_graph_of_five_nodes(updates, expected):
    found = ranks(updates=updates, tolerance=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.sum() == pytest.approx(5)


def test_shares_of_the_sum():
    found = ranks()
    np.testing.assert_allclose(found / found.sum(), [0.191534, 0.191534, 0.284251, 0.211623, 0.121059], atol=1e-6)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (4, [1.099396, 0.850906, 1.099396, 1.099396, 1.099396, 0.850906]),
        (2, [1.416281, 1.023119, 0.952722, 1.023119, 1.416281, 0.584758]),
    ],
)
def test_a_sentence_with_a_repeated_word(window, expected):
    np.testing.assert_allclose(TextRank(window=window).scores(CAT), expected, atol=1e-6)


def test_rounds_end_when_scores_stand_still():
    assert (ranks(updates=10, tolerance=0.5) == ranks(updates=1)).all()


def test_a_piece_beside_itself_is_its_own_neighbour_only_on_request():
    twice = np.array([7, 7, 8])
    apart = TextRank().scores(twice)
    np.testing.assert_allclose(apart, [1, 1, 1])
    looped = TextRank(self_loops=True, updates=1).scores(twice)
    np.testing.assert_allclose(looped, [0.15 + 0.85 * 1.5, 0.15 + 0.85 * 1.5, 0.15 + 0.85 * 0.5])


def test_the_published_code_makes_two_updates_over_wider_windows():
    made = SALIENCES.create("textrank(preset=saloss-code)")
    assert made == TextRank(window=8, updates=2, tolerance=0.0, self_loops=True)
    far = np.arange(8)  # distance 7 is within the window
    np.testing.assert_allclose(made.scores(far), np.ones(8))


@pytest.mark.parametrize(("pieces", "expected"), [([], []), ([3], [0.15]), ([3, 3, 3], [0.15] * 3)])
def test_texts_without_neighbours(pieces, expected):
    np.testing.assert_allclose(TextRank().scores(np.array(pieces, dtype=np.int64)), expected)
