"""The case and its engine: what is asked, what is run, and that sharing changes nothing."""

import pytest
import torch

from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.masking import Case, Engine
from veridical.models.black_box import BlackBox
from veridical.testing import Formula, black_box, pair_classifier, text_classifier


@pytest.fixture
def case():
    classifier, examples = text_classifier()
    return Case.bind(classifier, examples)


def masks(case, count, seed=0):
    keep = torch.rand(len(case), count, case.live.shape[1], generator=torch.Generator().manual_seed(seed)) < 0.5
    return keep & case.live[:, None]


def test_value_is_what_the_model_says_of_the_erased_input(case):
    keep = masks(case, 3)
    values = case.value(keep, "logit")
    classifier = case.classifier
    with torch.no_grad(), classifier.evaluating():
        for index in range(len(case)):
            for nth in range(3):
                batch = classifier.encode([case.batch.examples[index]])
                width = batch.live.shape[1]
                rows = case.eraser(classifier, batch.rows, keep[index, nth, :width][None])
                alone = classifier.run(rows).logits[0, case.targets[index]]
                assert values[index, nth] == pytest.approx(alone.item(), abs=1e-5)


def test_equal_inputs_are_run_once_but_counted_each_time(case):
    before = case.engine.cost.forwards
    keep = case.live[:, None].expand(-1, 50, -1)  # the whole text, fifty times: the model has seen it
    values = case.value(keep, "prob")
    assert case.engine.cost.forwards == before
    assert case.asked.tolist() == [51] * 4
    assert values.std(1).max() == 0
    torch.testing.assert_close(
        values[:, 0], case.classifier.probabilities(case.output.logits).gather(1, case.targets[:, None])[:, 0]
    )


def test_results_do_not_depend_on_the_budget(case):
    keep = masks(case, 20)
    small = Case.bind(case.classifier, case.batch.examples, engine=Engine(tokens=1))
    torch.testing.assert_close(case.value(keep), small.value(keep), atol=1e-5, rtol=0)


def test_batches_stay_within_the_budget_and_cover_every_row():
    lengths = torch.randint(1, 60, (500,), generator=torch.Generator().manual_seed(0))
    packs = list(Engine(tokens=200).packs(lengths))
    assert sorted(torch.cat(packs).tolist()) == list(range(500))
    for pack in packs:
        assert len(pack) == 1 or len(pack) * lengths[pack].max() <= 200
    assert sum(len(pack) * int(lengths[pack].max()) for pack in packs) < 1.1 * lengths.sum()  # little padding


def test_scales():
    case = Case.bind(Formula.linear({"x": 1.0}), [Example.of("x")], target="yes")
    keep = torch.tensor([[[True], [False]]])
    assert case.value(keep, "logit")[0].tolist() == pytest.approx([1, 0])
    assert case.value(keep, "prob")[0].tolist() == pytest.approx([0.731059, 0.5], abs=1e-6)
    assert case.value(keep, "logprob")[0].tolist() == pytest.approx([-0.313262, -0.693147], abs=1e-6)


def test_targets():
    formula = Formula.linear({"x": 1.0, "y": -1.0})
    examples = [Example("a", {"text": "x"}, "no"), Example("b", {"text": "y"}, "yes")]
    assert Case.bind(formula, examples).targets.tolist() == [1, 0]
    assert Case.bind(formula, examples, target="gold").targets.tolist() == [0, 1]
    assert Case.bind(formula, examples, target="yes").targets.tolist() == [1, 1]


def test_a_gold_label_the_model_does_not_know():
    formula = Formula.linear({"x": 1.0})
    with pytest.raises(InputError, match=r"example b, field 'label': 'maybe' is not a label.*It knows: no, yes"):
        Case.bind(formula, [Example("a", {"text": "x"}, "no"), Example("b", {"text": "x"}, "maybe")], target="gold")


def test_a_class_that_does_not_exist():
    with pytest.raises(UsageError, match="no class 'maybe'.*predicted, gold, every or one of: no, yes"):
        Case.bind(Formula.linear({"x": 1.0}), [Example.of("x")], target="maybe")


def test_not_a_number():
    formula = Formula({"x": 1.0, "y": 2.0}, lambda x: torch.stack([x.sum(1), (1.5 - x.sum(1)).sqrt()], 1))
    with pytest.raises(ModelError, match="example bad: the model gave .*nan"):
        Case.bind(formula, [Example("good", {"text": "x"}), Example("bad", {"text": "y"})])


def test_an_eraser_the_model_does_not_have():
    classifier, examples = black_box()
    case = Case.bind(classifier, examples, eraser="pad")
    with pytest.raises(UnsupportedError, match="erasing by 'pad' needs pad, which black-box models do not give"):
        case.value(case.live[:, None])


def test_windows_share_the_work_of_unchanged_windows():
    classifier, examples = text_classifier(max_length=8, long="window")
    case = Case.bind(classifier, examples[3:])
    windows = len(case.batch.rows)
    assert windows >= 4
    before = case.engine.cost.forwards
    keep = case.live.clone()
    keep[0, 0] = False
    case.ask(torch.zeros(1).long(), keep)
    assert case.engine.cost.forwards == before + 1  # only the first window is new


def test_windows_vote_with_equal_weight():
    classifier, examples = text_classifier(max_length=8, long="window")
    case = Case.bind(classifier, examples)
    with torch.no_grad(), classifier.evaluating():
        rows = classifier.run(case.batch.rows).logits
    owner = case.batch.rows.owner
    expected = torch.stack([rows[owner == index].mean(0) for index in range(len(case))])
    torch.testing.assert_close(case.output.logits, expected, atol=1e-5, rtol=0)


def test_pairs_keep_a_held_side_whatever_is_erased():
    classifier, examples = pair_classifier(hold="text_pair")
    case = Case.bind(classifier, examples)
    assert {unit.field for units in case.batch.units for unit in units} == {"text"}
    rows = case.with_eraser("delete").eraser(classifier, case.batch.rows, torch.zeros_like(case.live))
    second = len(classifier.tokenizer(str(examples[0].inputs["text_pair"]), add_special_tokens=False)["input_ids"])
    assert rows.lengths[0] == second + 3


def test_regression_has_no_probabilities():
    case = Case.bind(BlackBox(lambda texts: [float(len(text)) for text in texts]), [Example.of("abc de")])
    assert case.classifier.is_regression
    with pytest.raises(ValueError, match="no probabilities"):
        case.classifier.probabilities(case.output.logits)
    assert case.with_eraser("delete").value(torch.tensor([[[True, False]]])).item() == 3


def test_bfloat16_is_close_and_recorded():
    classifier, examples = text_classifier()
    exact = Case.bind(classifier, examples)
    rough = Case.bind(classifier, examples, engine=Engine(precision="bf16"))
    assert rough.engine.precision == "bf16"
    assert 0 < (exact.output.logits.softmax(-1) - rough.output.logits.softmax(-1)).abs().max() < 0.02


def test_many_questions_in_portions(case, monkeypatch):
    keep = masks(case, 30)
    whole = case.value(keep)
    monkeypatch.setattr("veridical.masking.case._ROWS_AT_ONCE", 7)
    torch.testing.assert_close(Case.bind(case.classifier, case.batch.examples).value(keep), whole, atol=1e-5, rtol=0)


def test_answers_remembered_are_bounded():
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples, engine=Engine(remember=10))
    case.value(masks(case, 40))
    assert len(case._answers) <= 10


def test_no_question_at_all(case):
    assert case.ask(torch.zeros(0).long(), torch.zeros(0, case.live.shape[1]).bool()).shape == (0,)


def test_what_depends_on_the_case_alone_is_computed_once(case):
    computed = []

    def compute():
        computed.append(1)
        return torch.ones(len(case))

    found = [each.once("key", compute) for each in (case, case, case.with_eraser("pad"))]
    assert len(computed) == 1
    assert all(each is found[0] for each in found)
    case.once("other", compute)
    assert len(computed) == 2
    Case.bind(case.classifier, case.batch.examples).once("key", compute)
    assert len(computed) == 3


def test_a_blank_input_has_no_special_tokens_either(case):
    erased = case.with_eraser("pad")
    classifier, pad = case.classifier, case.classifier.tokenizer.pad_token_id
    ids = torch.full((1, int(case.batch.rows.lengths[0])), pad)
    with torch.no_grad(), classifier.evaluating():
        logits = classifier.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    expected = logits.softmax(-1)[0, case.targets[0]]
    asked = case.asked.clone()
    assert erased.blank()[0].item() == pytest.approx(expected.item(), abs=1e-6)
    assert (case.asked == asked + 1).all()
    kept = erased.value(torch.zeros_like(case.live)[:, None])[:, 0]
    assert (erased.blank() - kept).abs().max() > 1e-6  # special tokens alone are something else


@pytest.mark.parametrize("scale", ["logit", "prob", "logprob"])
def test_a_gradient_by_logits_is_where_the_logits_are(case, scale):
    """Those of a training step stay on its device; `meta` stands for one that does not mix with the CPU."""
    logits = case.output.logits
    logit_gradient = case.logit_gradient(logits.to("meta"), scale)
    assert (logit_gradient.device.type, logit_gradient.shape) == ("meta", case.logit_gradient(logits, scale).shape)


def test_what_a_reader_has_read_is_not_taken_for_that_of_another_in_its_place():
    """Keys that were addresses only gave one reader what another one, gone by then, had read."""
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)

    class Reads:
        def __init__(self, value):
            self.value = value

        def read(self, rows, output):
            return torch.full(rows.unit_of.shape, float(self.value))

    found = [float(case.read(Reads(value))[0, 0]) for value in range(20)]
    assert found == [float(value) for value in range(20)]
