import numpy as np
import pytest
import torch

from veridical.audits.statistics.summary import attack_statistics
from veridical.core.errors import InputError, UsageError
from veridical.core.values import PAIR, TEXT, Example
from veridical.masking import Case, Engine
from veridical.metrics import METRICS, Attack, measure
from veridical.metrics.attack import Answer, Attempt, attack
from veridical.metrics.attack_edits import Edit
from veridical.models.black_box import BlackBox
from veridical.testing import black_box, check_metric, image_classifier, pair_classifier, text_classifier


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


OFFLINE = Attack(finder="rules", lists="short")
LABELS = ["bad", "good"]


def counting(weights, bias):
    """A model that adds up the weights of the strings that a text has; each is the logit of `good`."""

    def probabilities(texts):
        joined = [text if isinstance(text, str) else " | ".join(text) for text in texts]
        logits = [bias + sum(weight for part, weight in weights.items() if part in text) for text in joined]
        good = 1 / (1 + np.exp(-np.array(logits)))
        return np.stack([1 - good, good], 1)

    return BlackBox(probabilities, LABELS)


def attacked(model, *texts, label="good", metric=OFFLINE):
    examples = [Example(str(at), {TEXT: text}, label) for at, text in enumerate(texts)]
    return measured(Case.bind(model, examples), metric)


def measured(case, metric=OFFLINE):
    return measure(metric, case, torch.zeros(case.live.shape))


def numbers(found):
    return {"value": found.values, **found.details}


def same(one, other):
    return all(
        torch.equal(numbers(one)[name].nan_to_num(-9), numbers(other)[name].nan_to_num(-9)) for name in numbers(one)
    )


def test_a_model_that_looks_at_a_name_is_fooled_by_another():
    found = attacked(counting({"Tom": 2.0}, bias=-1.0), "Tom was fine here")
    assert found.values.tolist() == [1]
    assert found.details["queries"].tolist() == [1 + 3]
    assert found.details["perturbed"].tolist() == [0.25]
    assert found.details["words"].tolist() == [4]
    assert found.details["right"].tolist() == [1]


def test_a_model_that_looks_at_other_words_is_not_fooled():
    found = attacked(counting({"fine": 2.0}, bias=-1.0), "Tom was fine here in Paris")
    assert found.values.tolist() == [0]
    assert found.details["queries"].tolist() == [1 + 6 + 3]
    assert found.details["perturbed"].isnan().all()


@pytest.mark.parametrize(
    ("kind", "word", "text"),
    [
        ("names", "Smith", "Mr. Smith was here"),
        ("locations", "New York", "here is New York again"),
        ("numbers", "17", "all 17 were here"),
        ("contractions", "don't", "we don't see it"),
        ("contractions", "do not", "we do not see it"),
    ],
)
def test_every_kind_of_edit_can_succeed_and_no_other(kind, word, text):
    model = counting({word: 2.0}, bias=-1.0)
    assert attacked(model, text).values.tolist() == [1]
    others = tuple(each for each in OFFLINE.edits if each != kind)
    assert attacked(model, text, metric=Attack(others, finder="rules", lists="short")).values.tolist() == [0]
    assert attacked(model, text, metric=Attack((kind,), finder="rules", lists="short")).values.tolist() == [1]


def test_several_words_are_rewritten_the_one_that_matters_most_first():
    model = counting({"Tom": 1.0, "Paris": 2.0, "12": 0.5}, bias=-0.8)
    found = attacked(model, "Tom left Paris on May 12")
    assert found.values.tolist() == [1]
    assert found.details["perturbed"].tolist() == pytest.approx([2 / 6])
    assert found.details["queries"].tolist() == [1 + 9 + 6]


def test_nothing_to_edit_fails_without_a_further_question():
    model = counting({"fine": 2.0}, bias=-1.0)
    engine = Engine()
    case = Case.bind(model, [Example("0", {TEXT: "all was fine"}, "good")], engine=engine)
    found = measured(case)
    assert found.values.tolist() == [0]
    assert found.details["queries"].tolist() == [1]
    assert case.asked.tolist() == [1]
    assert engine.cost.queries == 1


def test_what_the_model_gets_wrong_is_skipped():
    found = attacked(counting({"Tom": 2.0}, bias=-1.0), "Tom was fine", "All was fine", label="bad")
    assert found.values[0].isnan()
    assert found.values.tolist()[1] == 0
    assert found.details["right"].tolist() == [0, 1]
    assert found.details["queries"].isnan().tolist() == [True, False]
    assert found.details["words"].tolist() == [3, 3]


def test_a_missing_label_is_undefined():
    found = attacked(counting({"Tom": 2.0}, bias=-1.0), "Tom was fine", label=None)
    assert found.values.isnan().all()
    assert found.details["right"].isnan().all()


def test_a_label_that_the_model_does_not_have_is_named():
    with pytest.raises(InputError, match="example 0.*'great' is not a label"):
        attacked(counting({}, bias=1.0), "Tom was fine", label="great")


def test_the_right_class_is_attacked_whatever_is_explained():
    examples = [Example("0", {TEXT: "Tom was fine"}, "good")]
    model = counting({"Tom": 2.0}, bias=-1.0)
    cases = [Case.bind(model, examples, target=target) for target in ("predicted", "bad")]
    assert same(*map(measured, cases))


def test_questions_are_counted():
    engine = Engine()
    model = counting({"Tom": 2.0}, bias=-1.0)
    texts = ["Tom was fine", "Tom saw Mary in Rome", "Mary"]
    case = Case.bind(model, [Example(text, {TEXT: text}, "good") for text in texts], engine=engine)
    found = measured(case)
    assert case.asked.tolist() == [4, 10, 1]
    assert found.details["queries"].nan_to_num(1).tolist() == [4, 10, 1]
    assert engine.cost.queries == 15


def test_methods_of_an_audit_share_one_attack():
    case = Case.bind(counting({"Tom": 2.0}, bias=-1.0), [Example("0", {TEXT: "Tom was fine"}, "good")])
    first = measure(OFFLINE, case, torch.zeros(case.live.shape))
    asked = case.asked.tolist()
    assert same(measure(OFFLINE, case, torch.ones(case.live.shape)), first)
    assert case.asked.tolist() == asked
    measure(Attack(finder="rules", lists="short", seed=1), case, torch.zeros(case.live.shape))
    assert case.asked.tolist() != asked


TEXTS = ("Tom isn't in Paris on May 12.", "Mary Smith saw 300 men; they are not old.", "dull", "John, 50, from Rome")


def test_neighbours_change_nothing():
    model, _ = text_classifier()
    labels = [model.labels[each] for each in Engine().predict(model, [Example.of(text) for text in TEXTS]).argmax(1)]
    examples = [Example(str(at), {TEXT: text}, labels[at]) for at, text in enumerate(TEXTS)]
    together = measured(Case.bind(model, examples))
    small = measured(Case.bind(model, examples, engine=Engine(tokens=1)))
    alone = [measured(Case.bind(model, [example])) for example in examples]
    assert together.details["right"].tolist() == [1, 1, 1, 1]
    assert together.details["queries"].max() > 10
    assert same(together, small)
    for name, values in numbers(together).items():
        assert [numbers(each)[name].nan_to_num(-9).item() for each in alone] == values.nan_to_num(-9).tolist(), name


def test_chance_depends_on_the_seed_and_on_nothing_else():
    model = counting({"7": -2.0}, bias=1.0)  # wrong where a 7 turns up
    texts = [f"there were {number} men" for number in range(100, 160) if "7" not in str(number)]
    found = [attacked(model, *texts, metric=Attack(("numbers",), seed=seed, finder="rules")) for seed in (0, 0, 1)]
    assert same(found[0], found[1])
    assert not same(found[0], found[2])
    assert 0 < found[0].values.mean() < 1


def test_more_replacements_find_more():
    model = counting({"7": -2.0}, bias=1.0)
    texts = [f"there were {number} men" for number in range(100, 160) if "7" not in str(number)]
    rates = [attacked(model, *texts, metric=Attack(("numbers",), replacements=count)).values.mean() for count in (1, 9)]
    assert rates[0] < rates[1]


def test_both_texts_of_a_pair_are_attacked():
    inputs = {TEXT: "it was fine", PAIR: "Tom was fine"}
    case = Case.bind(counting({"Tom": 2.0}, bias=-1.0), [Example("0", inputs, "good")])
    found = measured(case)
    assert found.values.tolist() == [1]
    assert found.details["words"].tolist() == [6]


def test_a_text_that_is_held_stays():
    model = counting({"Tom": 2.0}, bias=-1.0)
    model.hold = PAIR
    case = Case.bind(model, [Example("0", {TEXT: "it was fine", PAIR: "Tom was fine"}, "good")])
    assert measured(case).values.tolist() == [0]


def test_what_the_model_does_not_read_is_left_alone():
    model, _ = text_classifier(max_length=6)
    text = "one two three four five six seven eight Tom Smith"
    label = model.labels[int(Engine().predict(model, [Example.of(text)]).argmax())]
    found = measured(Case.bind(model, [Example("0", {TEXT: text}, label)]))
    assert found.details["queries"].tolist() == [1]
    assert found.details["words"].tolist() == [10]


def test_statistics_of_an_attack():
    model = counting({"Tom": 2.0, "fine": 2.0}, bias=-1.0)
    found = attacked(model, "Tom was here", "all was fine", "nothing", "Tom was fine")
    told = attack_statistics(found.values.numpy(), {name: each.numpy() for name, each in found.details.items()})
    assert (told.successes, told.failures, told.skipped) == (1, 2, 1)
    assert (told.original_accuracy, told.accuracy_under_attack) == (0.75, 0.5)
    assert told.success_rate == pytest.approx(1 / 3)
    assert told.queries == pytest.approx((4 + 1 + 4) / 3)


def test_it_judges_the_model():
    assert OFFLINE.subject == "model"
    assert METRICS.create("comprehensiveness").subject == "explanations"
    assert not OFFLINE.greater_is_better


def test_images_are_refused():
    classifier, examples = image_classifier()
    case = Case.bind(classifier, examples)
    with pytest.raises(InputError, match="there is no text, only: image"):
        OFFLINE(case, torch.ones(case.live.shape))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("edits=[typos]", "is not possible. .* one of: contractions, names, numbers, locations"),
        ("edits=[]", "is empty. Give edits at least one value"),
        ("finder=rule", "unknown finder 'rule'. Did you mean 'rules'"),
        ("lists=shorter, finder=rules", "unknown list of names 'shorter'. Did you mean 'short'"),
    ],
)
def test_unknown_settings_are_named(settings, problem):
    with pytest.raises(UsageError, match=problem):
        METRICS.create(f"attack({settings})")


def test_a_finder_takes_options():
    assert METRICS.create("attack(finder='spacy(confidence=0.5)')").finder == "spacy(confidence=0.5)"


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, black_box], ids=lambda each: each.__name__)
def test_contract(sample):
    check_metric(OFFLINE, sample)


def test_contract_where_there_is_much_to_attack():
    def sample():
        model, _ = text_classifier()
        predicted = Engine().predict(model, [Example.of(text) for text in TEXTS]).argmax(1)
        return model, [Example(str(at), {TEXT: text}, model.labels[predicted[at]]) for at, text in enumerate(TEXTS)]

    check_metric(OFFLINE, sample)


def test_the_libraries_find_what_rules_do_not():
    pytest.importorskip("spacy")
    pytest.importorskip("faker")
    model = counting({"Meryl": 2.0}, bias=-1.0)
    text = "I think that Meryl Streep is great in this movie"
    assert attacked(model, text, metric=Attack()).values.tolist() == [1]
    assert attacked(model, text).values.tolist() == [0]
