import pytest

from veridical.core.errors import InputError
from veridical.core.values import Unit
from veridical.data.rows import align, span_units, tagged_units

TEXT = "a truly good film"


def test_spans_become_units_from_lists_and_from_json() -> None:
    expected = (Unit("text", (2, 12), "truly good"), Unit("text", (13, 17), "film"))
    assert span_units(TEXT, [[2, 12], [13, 17]], "here", "1") == expected
    assert span_units(TEXT, "[[2, 12], [13, 17]]", "here", "1") == expected
    assert span_units(TEXT, None, "here", "1") == span_units(TEXT, "", "here", "1") == ()


@pytest.mark.parametrize("span", [[5, 18], [-1, 3], [4, 4], [5, 3], [1], "ab", [1.0, 2.0], [True, 3]])
def test_a_span_outside_the_text_names_the_example_and_the_place(span: object) -> None:
    message = r"example 7, field 'rationales': f\.jsonl, line 3: the rationale .* 17 characters.*counted from 0"
    with pytest.raises(InputError, match=message):
        span_units(TEXT, [[0, 1], span], "f.jsonl, line 3", "7")


@pytest.mark.parametrize("spans", ["oops", 3, {"a": 1}, "7"])
def test_what_is_no_list_of_spans_is_refused(spans: object) -> None:
    with pytest.raises(InputError, match="rationales are a list of"):
        span_units(TEXT, spans, "here", "1")


def test_words_are_aligned_from_left_to_right() -> None:
    text = "the cat, the\u00a0dog."
    spans = align(["the", "cat", ",", "the", "dog", "."], text)
    assert spans == [(0, 3), (4, 7), (7, 8), (9, 12), (13, 16), (16, 17)]


def test_a_word_that_is_not_there_takes_no_other_with_it() -> None:
    text = "he said \u201cno\u201d and then went home to see the end"
    spans = align(["he", "said", '"', "end", '"', "and", "then"], text)
    assert spans == [(0, 2), (3, 7), None, None, None, (13, 16), (17, 21)]
    assert align([""], text) == [None]


def test_bad_words_are_evidence_in_the_right_field() -> None:
    inputs = {"text": "ein Haus", "text_pair": "a mouse !"}
    values = {
        "source_words": ["ein", "Haus"],
        "source_tags": [0, 1],
        "target_words": ["a", "mouse", "?"],
        "target_tags": [0, 1, 1],
    }
    units, lost = tagged_units(inputs, values, "here", "1")
    assert units == (Unit("text", (4, 8), "Haus"), Unit("text_pair", (2, 7), "mouse"))
    assert lost == 1


@pytest.mark.parametrize(
    "values",
    [
        {"source_words": ["a", "b"], "source_tags": ["OK", "BAD"]},
        {"source_words": "a b", "source_tags": "OK BAD"},
        {"source_tags": "OK BAD"},  # the words are those between blanks
        {"source_tags": [0, 1]},
        {"source_tags": "OK OK BAD BAD OK"},  # the gaps around the words are tagged, too
        {"source_words": ["a", "b"], "source_tags": [1, 0, 1, 1, 0]},
    ],
)
def test_tags_as_files_have_them(values: dict[str, object]) -> None:
    assert tagged_units({"text": "a b"}, values, "here", "1") == ((Unit("text", (2, 3), "b"),), 0)


@pytest.mark.parametrize("value", ["news; sport", "", "OK BAD maybe", 7, None, {"a": 1}])
def test_a_column_that_only_has_the_name_of_tags_is_left_alone(value: object) -> None:
    assert tagged_units({"text": "a b"}, {"source_tags": value}, "here", "1") == ((), 0)


def test_what_is_no_tag_is_named() -> None:
    with pytest.raises(InputError, match="field 'source_tags': here: 'bad' is no tag: they are OK or BAD, or 0 or 1"):
        tagged_units({"text": "a b"}, {"source_tags": ["OK", "bad"]}, "here", "1")


def test_tags_and_words_must_be_as_many() -> None:
    with pytest.raises(InputError, match=r"example 1, field 'source_tags': here: 1 tags for 2 words"):
        tagged_units({"text": "a b"}, {"source_words": ["a", "b"], "source_tags": [1]}, "here", "1")
