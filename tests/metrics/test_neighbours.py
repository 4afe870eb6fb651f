import numpy as np

from veridical.metrics.neighbours import NOBODY, nearest


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
