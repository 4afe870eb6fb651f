"""What is explained: one class, or each label of an example that has several, on which scale, with which derivative."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.masking import ERASERS, Case
from veridical.masking.questions import derivative_of, values_of
from veridical.models.new import start
from veridical.testing import Formula, black_box, image_classifier, pair_classifier, text_classifier

LOGITS = torch.tensor([[0.3, -1.2, 2.0], [1.0, 0.5, -0.25]], dtype=torch.float64)
TARGETS = torch.tensor([2, 1])
EXAMPLES = [
    Example("a", {"text": "the bank lost a goal"}, ("money", "sport")),
    Example("b", {"text": "wet"}, ("rain",)),
    Example("c", {"text": "nothing at all here today"}, ()),
]
LABELS = ("money", "rain", "sport")


@pytest.fixture
def classifier():
    return start("tiny", EXAMPLES, LABELS, seed=0)


def entries(case):
    names = [case.classifier.target_name(int(target)) for target in case.targets]
    return list(zip([example.id for example in case.batch.examples], names, strict=True))


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("scale", ["logit", "prob", "logprob"])
def test_the_derivative_is_that_of_the_value(scale, independent):
    leaf = LOGITS.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(values_of(leaf, TARGETS, scale, independent).sum(), leaf)
    assert torch.allclose(derivative_of(LOGITS, TARGETS, scale, independent), gradient)


def test_independent_labels_have_a_sigmoid_each():
    chosen = LOGITS.gather(1, TARGETS[:, None])[:, 0]
    assert torch.equal(values_of(LOGITS, TARGETS, "prob", independent=True), chosen.sigmoid())
    assert torch.equal(values_of(LOGITS, TARGETS, "logprob", independent=True), functional.logsigmoid(chosen))


def test_each_predicted_label_is_an_entry_and_the_highest_where_none_is(classifier, monkeypatch):
    logits = torch.tensor([[1.0, -1.0, 2.0], [-3.0, -2.0, -4.0], [0.0, 5.0, -1.0]])
    monkeypatch.setattr("veridical.masking.engine.Engine.logits", lambda *_: logits)
    assert entries(Case.bind(classifier, EXAMPLES)) == [
        ("a", "money"), ("a", "sport"), ("b", "rain"), ("c", "money"), ("c", "rain"),
    ]  # fmt: skip


def test_each_gold_label_is_an_entry(classifier):
    found = entries(Case.bind(classifier, EXAMPLES, target="gold"))
    assert found[:3] == [("a", "money"), ("a", "sport"), ("b", "rain")]
    assert [example for example, _ in found[3:]] == ["c"]  # which has none, so its highest label is explained


def test_a_label_by_name_is_one_entry_for_each_example(classifier):
    assert entries(Case.bind(classifier, EXAMPLES, target="rain")) == [("a", "rain"), ("b", "rain"), ("c", "rain")]
    with pytest.raises(UsageError, match="no class 'snow'. Choose predicted, gold, every or one of: money"):
        Case.bind(classifier, EXAMPLES, target="snow")


def test_entries_of_one_example_are_alike_but_for_their_target(classifier):
    case = Case.bind(classifier, EXAMPLES, target="gold")
    alone = Case.bind(classifier, EXAMPLES[:1], target="sport")
    assert torch.equal(case.output.logits[0], case.output.logits[1])
    keep = case.live.clone()
    keep[:, 0] = False
    asked = case.value(keep[:, None], "prob")[:, 0]
    assert asked[1] == pytest.approx(float(alone.value(keep[1:2, None, : alone.live.shape[1]], "prob")), abs=1e-6)


def test_documents_of_several_windows_are_repeated_whole():
    windows = start("tiny", EXAMPLES, LABELS, seed=0, long="window", max_length=5)
    whole = Case.bind(windows, EXAMPLES, target="gold")
    single = Case.bind(windows, EXAMPLES, target="money")
    rows = torch.bincount(single.batch.rows.owner)
    assert torch.bincount(whole.batch.rows.owner).tolist() == [int(rows[0])] * 2 + rows[1:].tolist()
    assert torch.allclose(whole.output.logits[[0, 2, 3]], single.output.logits, atol=1e-6)


def test_a_decision_is_about_the_entrys_own_label(classifier):
    case = Case.bind(classifier, EXAMPLES, target="rain")
    logits = torch.tensor([[3.0, -1.0, 0.0], [0.0, 1.0, 5.0], [-1.0, -2.0, -3.0]])
    assert case.decisions(logits, torch.arange(3)).tolist() == [0, 1, 0]


def test_a_decision_between_classes_is_the_highest():
    classes = start("tiny", [Example("a", {"text": "x"}, "money")], LABELS)
    case = Case.bind(classes, [Example("a", {"text": "x y"})])
    assert case.decisions(torch.tensor([[0.0, 3.0, 1.0]]), torch.zeros(1, dtype=torch.long)).tolist() == [1]


def windows():
    return text_classifier(max_length=8, long="window")


def held():
    return pair_classifier(hold="text_pair")


def training_case(sample=text_classifier, **wanted):
    classifier, examples = sample()
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch, **wanted))


SAMPLES = [text_classifier, pair_classifier, image_classifier, windows, held]


@pytest.mark.parametrize("eraser", list(ERASERS))
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_without_dropout_it_says_what_plain_questions_say(sample, eraser):
    classifier, examples = sample()
    case, plain = training_case(sample).with_eraser(eraser), Case.bind(classifier, examples, eraser=eraser)
    example = torch.tensor([2, 0, 2])
    keep = case.live[example] & (torch.rand(3, case.live.shape[1], generator=torch.manual_seed(0)) < 0.6)
    found = case.ask_with_gradients(example, keep).logits
    assert found.requires_grad
    torch.testing.assert_close(found.detach(), plain.logits(example, keep), atol=1e-5, rtol=0)


@pytest.mark.parametrize("eraser", [name for name in ERASERS if name != "delete"])
@pytest.mark.parametrize("sample", [text_classifier, windows, image_classifier], ids=lambda sample: sample.__name__)
def test_gradients_into_what_is_kept_are_the_finite_differences(sample, eraser):
    classifier, examples = sample()
    exact = torch.float32 if sample is image_classifier else torch.float64  # pixels are single numbers
    classifier.model.to(exact).eval()
    batch = classifier.encode(examples)
    case = Case.of_output(classifier, batch, classifier.forward(batch), eraser=eraser)
    torch.manual_seed(0)
    keep = (0.2 + 0.6 * torch.rand(case.live.shape, dtype=exact)).requires_grad_()
    direction, step = torch.randn_like(keep) * case.live, 1e-2

    def value(kept):
        return case.ask_with_gradients(torch.arange(len(case)), kept).logits[:, 1].sum()

    (gradient,) = torch.autograd.grad(value(keep), keep)
    assert (gradient[~case.live] == 0).all()
    difference = (value(keep + step * direction) - value(keep - step * direction)).item() / (2 * step)
    assert abs(difference) > 1e-3
    assert (gradient * direction).sum().item() == pytest.approx(difference, rel=1e-2)


def test_gradients_reach_the_weights():
    case = training_case()
    case.ask_with_gradients(torch.tensor([1]), 0.5 * case.live[[1]]).logits.sum().backward()
    gradients = [values.grad for values in case.classifier.model.parameters() if values.grad is not None]
    assert max(gradient.abs().max() for gradient in gradients) > 1e-3
    assert case.classifier.model.get_input_embeddings().weight.grad.abs().sum() > 0


def test_the_model_stays_in_its_mode():
    case = training_case()
    for module in case.classifier.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    asked = {}
    for training in (True, False):
        case.classifier.model.train(training)
        asked[training] = [case.ask_with_gradients(keep=case.live).logits for _ in range(2)]
        assert case.classifier.model.training == training
    assert not torch.equal(*asked[True])
    assert torch.equal(*asked[False])


@pytest.mark.parametrize("sample", [text_classifier, windows], ids=lambda sample: sample.__name__)
def test_attentions_and_hidden_states_are_those_of_the_rows(sample):
    case = training_case(sample, attentions=True, hidden=True)
    found = case.ask_with_gradients(attentions=True, hidden=True)
    pairs = [*zip(found.attentions, case.output.attentions, strict=True)]
    pairs += zip(found.hidden, case.output.hidden, strict=True)
    for mine, theirs in [*pairs, (found.logits, case.output.logits)]:
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)
    assert case.ask_with_gradients().attentions is None
    part = case.ask_with_gradients(torch.tensor([1]), case.live[[1]], hidden=True)
    assert part.hidden[0].shape[0] == int((case.batch.rows.owner == 1).sum())


def test_embeddings_take_the_place_of_the_rows_own():
    case = training_case()
    embeds = case.classifier.embed(case.batch.rows)
    same, other = (case.ask_with_gradients(embeds=each).logits for each in (embeds, embeds.flip(2)))
    torch.testing.assert_close(same, case.output.logits)
    assert (other - same).abs().max() > 1e-3


@pytest.mark.parametrize("sample", [text_classifier, windows], ids=lambda sample: sample.__name__)
def test_questions_are_counted_by_example_and_rows_by_the_engine(sample):
    case = training_case(sample)
    rows = case.batch.rows
    case.ask_with_gradients(torch.tensor([3, 1, 3]), case.live[[3, 1, 3]])
    assert case.asked.tolist() == [1, 2, 1, 3]
    run = int((rows.owner == 1).sum() + 2 * (rows.owner == 3).sum())
    assert (case.engine.cost.queries, case.engine.cost.forwards) == (3, run)
    case.run(rows.select(torch.arange(len(rows)).repeat(2)))
    assert case.asked.tolist() == [3, 4, 3, 5]
    assert (case.engine.cost.queries, case.engine.cost.forwards) == (11, run + 2 * len(rows))
    case.rowsum(lambda some, _: torch.zeros(*some.unit_of.shape, 2), torch.arange(len(rows)).repeat(5))
    assert case.asked.tolist() == [8, 9, 8, 10]


def test_what_the_eraser_or_the_model_cannot_do_is_said():
    case = training_case().with_eraser("delete")
    with pytest.raises(UnsupportedError, match="a word cannot be half deleted"):
        case.ask_with_gradients(keep=0.5 * case.live)
    classifier, examples = black_box()
    asked = Case.bind(classifier, examples, eraser="zero")
    with pytest.raises(UnsupportedError, match="erasing by 'zero' needs zero, which black-box models do not give"):
        asked.ask_with_gradients(keep=asked.live)


def test_rewritten_texts_count_as_questions_about_their_examples():
    case = Case.bind(Formula.linear({"good": 2.0, "bad": -1.0}), [Example.of("good bad"), Example.of("bad")])
    others = [Example.of(text) for text in ("good", "bad", "good good")]
    logits = case.logits_of_rewritten(torch.tensor([1, 1, 0]), others)
    assert logits[:, 1].tolist() == [2.0, -1.0, 4.0]
    assert case.asked.tolist() == [2, 3]
    assert case.engine.cost.queries == 5


def test_visits_are_kept_apart_or_added_up():
    case = Case.bind(*text_classifier())
    rows = case.batch.rows
    wanted = torch.tensor([[True, True], [True, False], [False, False], [False, True]])

    def score(some, visit):
        return (some.unit_of + 1).float() * (10 ** visit.float())[:, None]

    apart = case.rowvisits(score, wanted)
    assert apart.shape == (2, *rows.unit_of.shape)
    for visit in range(2):
        expected = (rows.unit_of + 1) * 10**visit * wanted[:, visit][:, None]
        assert torch.equal(apart[visit], expected.float())
    row, visit = torch.nonzero(wanted, as_tuple=True)
    added = case.rowsum(lambda some, at: score(some, visit[at])[..., None], row)
    assert torch.equal(added[..., 0], apart.sum(0))


@pytest.mark.parametrize("scale", ["logit", "prob", "logprob"])
def test_the_derivative_of_a_value_by_the_logits(scale):
    logits = torch.randn(5, 3, generator=torch.manual_seed(0), dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 2, 1, 1, 0])
    (expected,) = torch.autograd.grad(values_of(logits, targets, scale).sum(), logits)
    torch.testing.assert_close(derivative_of(logits, targets, scale), expected)
