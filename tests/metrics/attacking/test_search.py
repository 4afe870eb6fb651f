from veridical.metrics.attacking.edits import Edit
from veridical.metrics.attacking.search import Answer, Attempt, attack


def edit(word, text, words=1):
    """Words are one character wide and one apart."""
    return Edit(
        "text",
        (2 * word, 2 * (word + words) - 1),
        text,
        tuple((2 * at, 2 * at + 1) for at in range(word, word + words)),
    )


def model(harm, bar=0.5, asked=None):
    """Each edit takes away some probability of the right class, which starts at 0.9."""

    def ask(questions):
        if asked is not None:
            asked.append([(index, "".join(each.text for each in edits)) for index, edits in questions])
        left = [0.9 - sum(harm.get(each.text, 0) for each in edits) for _, edits in questions]
        return [Answer(probability, probability < bar) for probability in left]

    return ask


def attempted(edits, harm, **how):
    attempt = Attempt(edits)
    attack({0: attempt}, model(harm, **how))
    return attempt


def made(attempt):
    return "".join(each.text for each in attempt.made)


def test_the_edit_that_hurts_most_is_made_first():
    found = attempted([edit(0, "a"), edit(1, "b"), edit(2, "c")], {"a": 0.1, "b": 0.3, "c": 0.2})
    assert made(found) == "bc"
    assert found.fooled
    assert found.queries == 3 + 2


def test_one_edit_may_be_enough():
    found = attempted([edit(0, "a"), edit(1, "b")], {"b": 0.5})
    assert (made(found), found.fooled, found.queries) == ("b", True, 2)


def test_it_goes_on_until_nothing_is_left():
    found = attempted([edit(0, "a"), edit(1, "b")], {"a": 0.1, "b": -0.2})
    assert (made(found), found.fooled, found.queries) == ("ab", False, 3)


def test_a_word_is_modified_at_most_once():
    found = attempted(
        [edit(0, "a"), edit(0, "b"), edit(0, "c", words=2), edit(1, "d")], {"a": 0.2, "b": 0.19, "c": 0.1}
    )
    assert made(found) == "ad"
    assert found.queries == 4 + 1
    assert found.touched == {("text", (0, 1)), ("text", (2, 3))}


def test_an_edit_of_two_words_takes_both():
    found = attempted([edit(0, "c", words=2), edit(0, "a"), edit(1, "b")], {"c": 0.3})
    assert (made(found), found.queries) == ("c", 3)
    assert len(found.touched) == 2


def test_nothing_to_edit_asks_nothing():
    asked = []
    found = attempted([], {}, asked=asked)
    assert (found.made, found.fooled, found.queries, asked) == ((), False, 0, [])


def test_rounding_does_not_decide():
    found = attempted([edit(0, "a"), edit(1, "b")], {"a": 0.1, "b": 0.1 + 1e-9}, bar=0.75)
    assert made(found) == "ab"


def test_documents_share_rounds_but_nothing_else():
    asked = []
    harm = {"a": 0.5, "b": 0.1, "c": 0.2}
    attempts = {3: Attempt([edit(0, "a")]), 5: Attempt([edit(0, "b"), edit(1, "c")]), 7: Attempt([])}
    attack(attempts, model(harm, asked=asked))
    assert asked == [[(3, "a"), (5, "b"), (5, "c")], [(5, "cb")]]
    assert [made(each) for each in attempts.values()] == ["a", "cb", ""]
    assert attempts[5] == attempted([edit(0, "b"), edit(1, "c")], harm)
