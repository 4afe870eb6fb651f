"""Mask layers: samples and losses by hand, which weights learn, and what is found, saved and explained."""

import copy
import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from veridical.audits.plan import methods_of, plan
from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import EXPLAINERS
from veridical.explainers.iba import IBALayer, information
from veridical.explainers.mask_layers import L2XLayer, SCCLayer, VMaskLayer
from veridical.masking import Case
from veridical.metrics import METRICS
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import L2X, OBJECTIVES, SCC, CrossEntropy, VMask
from veridical.objectives.base import forward, prepare, tell_epoch
from veridical.objectives.mask_layers import Clock, concrete, hardened, negative_entropy, relaxed, some_of
from veridical.run.explain import explain
from veridical.run.train import train
from veridical.testing import image_classifier, pair_classifier, text_classifier
from veridical.testing.families import FAMILIES, family
from veridical.training import Schedule
from veridical.training.trainer import Trainee

NAMES = ("scc", "vmask", "l2x", "iba")
M = torch.tensor([0.9, 0.2, 0.5], dtype=torch.double)


def gumbel(uniforms):
    return -(-torch.tensor(uniforms, dtype=torch.double).log()).log()


def step(objective, classifier, examples):
    """The terms of a training step, and the prepared objective."""
    ready = prepare(objective, classifier, examples)
    batch = classifier.encode(examples)
    return ready(Case.of_output(classifier, batch, forward(classifier, batch, ready))), ready


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, [0.922465, 0.792483, 0.297893]), (0.5, [0.992985, 0.935831, 0.152554])]
)
def test_concrete_samples(temperature, expected):
    noise = gumbel([0.5, 0.9, 0.3]) - gumbel([0.4, 0.2, 0.6])
    assert relaxed(M.logit(), noise, temperature).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_a_hard_mask_keeps_a_word_as_often_as_it_is_probable(temperature):
    torch.manual_seed(0)
    drawn = concrete(M.logit().expand(20_000, 3), temperature, hard=True)
    assert set(drawn.unique().tolist()) == {0, 1}
    assert drawn.mean(0).tolist() == pytest.approx(M.tolist(), abs=0.015)


def test_the_gradient_of_a_hard_mask_is_that_of_the_soft_one():
    logits = torch.zeros(4, requires_grad=True)
    noise = torch.tensor([-1.0, -0.1, 0.1, 1.0])
    (hard,) = torch.autograd.grad(hardened(relaxed(logits, noise, 1.0)).sum(), logits)
    (soft,) = torch.autograd.grad(relaxed(logits, noise, 1.0).sum(), logits)
    assert torch.equal(hard, soft)


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [(0.5, [0.997421, 0.552298, 0.019792, 0.227482]), (0.1, [1.0, 0.982175, 0.0, 0.011643])],
)
def test_some_words_of_l2x(temperature, expected):
    logits = torch.tensor([[1.0, 0.0, -1.0, 0.5]], dtype=torch.double)
    noise = gumbel([[[0.2, 0.7, 0.5, 0.4]], [[0.9, 0.3, 0.6, 0.1]]])
    found = some_of(logits, noise, temperature)[0]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)
    assert found.sum() <= 2
    assert ((found > 0) & (found <= 1)).all()


@pytest.mark.parametrize(
    ("kept", "standard", "nats"),
    [
        (0.5, 1, 0.443147),
        (0.5, 0, 0.318147),
        (0.9, 2, 3.427585),
        (0.0, 7, 0.0),
        (torch.tensor(5.0).sigmoid().item(), 1, 5.000067),
    ],
)
def test_information_in_nats(kept, standard, nats):
    found = information(torch.tensor([kept]).double().logit(), torch.tensor([standard]).double())
    assert found.item() == pytest.approx(nats, abs=1e-5)


def test_regularisers():
    assert negative_entropy(M.logit()).mean().item() == pytest.approx(-0.506211, abs=1e-6)
    for gamma, total in ((1.0, 0.081367), (0.01, 1.584814)):
        sparse = M + gamma * negative_entropy(M.logit())
        assert sparse.sum().item() == pytest.approx(total, abs=1e-6)
        assert sparse.mean().item() == pytest.approx(total / 3, abs=1e-6)
    assert torch.isfinite(negative_entropy(torch.tensor([-200.0, 200.0]))).all()


def test_the_minimum_of_the_sparse_loss():
    logits = torch.linspace(-3, 1, 4001, dtype=torch.double)
    lowest = logits[(logits.sigmoid() + negative_entropy(logits)).argmin()]
    assert lowest.sigmoid().item() == pytest.approx(0.268941, abs=1e-3)


def test_the_weight_of_the_entropy_falls():
    assert [Clock(epoch).weight("epochs") for epoch in (0, 1, 9, 10, 20)] == pytest.approx(
        [1, 0.901, 0.109, 0.01, 0.01]
    )
    assert [Clock(epoch, 3).weight("training") for epoch in (0, 1, 2)] == pytest.approx([1, 0.505, 0.01])
    assert Clock(0, 1).weight("training") == 1


def test_the_layer_of_scc_has_as_many_weights_as_published():
    count = sum(weight.numel() for weight in SCCLayer(768, 13).network.parameters())
    assert count == 155_101 == 76_900 + 76_900 + 1_301
    assert (
        sum(weight.numel() for weight in SCCLayer(768, 13, separate=True).network.parameters()) == 13 * 153_800 + 1_301
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier])
def test_texts_pairs_and_images(name, sample):
    classifier, examples = sample()
    terms, ready = step(OBJECTIVES.create(name), classifier, examples)
    assert all(torch.isfinite(term) for term in terms.values())
    found = ready.layer.scores(Case.bind(classifier, examples)).values
    live = Case.bind(classifier, examples).live
    assert (found[live] > 0).all()
    assert (found[~live] == 0).all()


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("written", [*NAMES, "vmask(preset=e-varm)", "l2x(mode=posthoc)", "simcse"])
def test_other_encoders(kind, written):
    """Texts are no multiple of Longformer's window of 8, to which it pads what enters its first layer."""
    classifier = family(kind)
    classifier.has_new_head = False
    texts = ("A gorgeous movie", "The plot is dull")
    examples = [Example(text, {"text": text}, label) for text, label in zip(texts, classifier.labels, strict=True)]
    assert classifier.encode(examples).rows.unit_of.shape[1] % 8 or kind != "longformer"
    terms, ready = step(OBJECTIVES.create(written), classifier, examples)
    assert all(torch.isfinite(term) for term in terms.values())
    sum(terms.values()).backward()
    assert all(math.isfinite(figure) for figure in ready.evaluate(classifier, examples).values())
    for layer in ready.explainers.values():
        case = Case.bind(classifier, examples)
        assert (layer.scores(case).values[case.live] > 0).all()


def reached(objective, classifier, examples):
    """The weights, by name, that a training step has gradients for."""
    trainee = Trainee(classifier, prepare(objective, classifier, examples))
    with trainee.holding():
        trainee(classifier.encode(examples))["loss"].backward()
    found = {name for name, weight in trainee.named_parameters() if weight.grad is not None}
    classifier.model.zero_grad(set_to_none=True)
    return found, trainee


MODEL, EMBEDDINGS = {name for name, _ in text_classifier()[0].model.named_parameters()}, "bert.embeddings."


@pytest.mark.parametrize(
    "written",
    ["scc", "scc(detach=true)", "scc(contrast=0)", "vmask", "vmask(preset=e-varm)", "l2x", "iba", "simcse"],
)
def test_gradients_reach_the_layer_and_the_model(written):
    classifier, examples = text_classifier()
    found, trainee = reached(OBJECTIVES.create(written), classifier, examples)
    own = {f"parts.{name}" for name, _ in trainee.parts.named_parameters()}
    assert own
    assert found == own | {f"model.{name}" for name in MODEL}


def test_gradients_spare_what_is_frozen():
    classifier, examples = text_classifier()
    classifier.has_new_head = False
    frozen = {f"model.{name}" for name in MODEL if name.startswith(EMBEDDINGS)}
    # With the plain loss of whole texts, and layers that read hidden states, there are other ways to the embeddings.
    for written in ("vmask(freeze=true)", "vmask(freeze=true, ce_full=1.0, every_layer=true, contrast=0.1)"):
        found, trainee = reached(OBJECTIVES.create(written), classifier, examples)
        everything = {name for name, _ in trainee.named_parameters()}
        assert found == everything - frozen
    assert all(weight.requires_grad for weight in classifier.model.parameters())


def test_a_finished_model_learns_nothing():
    classifier, examples = text_classifier()
    classifier.has_new_head = False
    found, trainee = reached(L2X(mode="posthoc"), classifier, examples)
    assert found == {f"parts.{name}" for name, _ in trainee.parts.named_parameters()}
    assert len(trainee.parts) == 2  # the selector, and a predictor that is not the model
    assert not {id(weight) for weight in trainee.parts.parameters()} & {id(each) for each in trainee.model.parameters()}


def test_hidden_states_without_gradients():
    classifier, examples = text_classifier()
    torch.manual_seed(0)
    terms, ready = step(SCC(detach=True, contrast=0.0), classifier, examples)
    (found,) = torch.autograd.grad(terms["sparse"], [ready.layer.network.last.bias], retain_graph=True)
    assert found.abs() > 0
    model = list(classifier.model.parameters())
    assert all(grad is None for grad in torch.autograd.grad(terms["sparse"], model, allow_unused=True))


def passes(objective):
    """How often the model is run in a training step."""
    classifier, examples = text_classifier()
    ready, runs = prepare(objective, classifier, examples), []
    classifier.model.register_forward_hook(lambda *_: runs.append(1))
    batch = classifier.encode(examples)
    ready(Case.of_output(classifier, batch, forward(classifier, batch, ready)))
    return len(runs)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("scc", 3),
        ("scc(contrast=0)", 2),
        ("scc(background=false)", 2),
        ("vmask", 1),
        ("vmask(every_layer=true)", 2),
        ("vmask(every_layer=true, contrast=0.1)", 2),
        ("l2x", 1),
        ("iba", 1),
        ("simcse", 2),
        ("simcse(weight=0)", 1),
        ("vmask + cross-entropy", 2),
    ],
)
def test_a_step_takes_no_more_passes_than_it_must(written, count):
    assert passes(OBJECTIVES.create(written)) == count


def test_a_sum_takes_the_plain_loss_of_the_others():
    classifier, examples = text_classifier()
    terms, _ = step(OBJECTIVES.create("scc + regex"), classifier, examples)
    assert {"masked", "sparse", "contrast", "cross_entropy", "virtual_adversarial"} <= set(terms)
    assert OBJECTIVES.create("scc + regex").base == 1


def test_masks_spare_special_tokens():
    classifier, examples = text_classifier()
    seen = []
    _, ready = step(VMask(), classifier, examples)
    batch = classifier.encode(examples)
    nothing = ready.masked(torch.zeros(batch.rows.unit_of.shape), ready.words(batch.rows, batch.rows.unit_of.shape[1]))
    classifier.run(batch.rows, enter=lambda states: seen.append((states, nothing(states))) or nothing(states))
    before, after = seen[0]
    words = batch.rows.unit_of >= 0
    assert (after[words] == 0).all()
    assert torch.equal(after[~words], before[~words])


def no_dropout(classifier):
    for module in classifier.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def test_a_mask_that_keeps_everything_is_plain_training(monkeypatch):
    classifier, examples = text_classifier()
    no_dropout(classifier)
    classifier.model.train()
    other = copy.deepcopy(classifier)
    monkeypatch.setattr("veridical.objectives.mask_layers.concrete", lambda logits, *_: torch.ones_like(logits))
    steps = [torch.optim.AdamW(each.model.parameters(), lr=1e-3) for each in (classifier, other)]
    for _ in range(3):
        terms, _ready = step(SCC(sparse=0.0, contrast=0.0), classifier, examples)
        plain, _ready = step(CrossEntropy(), other, examples)
        assert terms["masked"].item() == pytest.approx(plain["cross_entropy"].item(), abs=1e-6)
        for terms_, optimiser in ((terms, steps[0]), (plain, steps[1])):
            optimiser.zero_grad()
            sum(terms_.values()).backward()
            optimiser.step()
    for (name, weight), twin in zip(classifier.model.named_parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(weight, twin, atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_sparse_loss_of_a_text_is_a_mean_or_a_sum(reduction, monkeypatch):
    """Where all words have the same probability, it is the loss of one word, or that times their number."""
    classifier, examples = text_classifier()
    monkeypatch.setattr(SCCLayer, "logits", lambda _, hidden: torch.zeros(hidden[0].shape[:2], requires_grad=True))
    terms, _ = step(SCC(reduction=reduction, contrast=0.0), classifier, examples)
    one = 0.5 - torch.tensor(2.0).log().item()
    words = (classifier.encode(examples).rows.unit_of >= 0).sum().item() / len(examples)
    assert terms["sparse"].item() == pytest.approx(one * (words if reduction == "sum" else 1), abs=1e-5)


def keywords(count, seed):
    """Texts of 20 words, one of which is the keyword of their class, and where it stands."""
    chance, made = random.Random(seed), []
    for at in range(count):
        words, place, label = [f"w{chance.randrange(30)}" for _ in range(20)], chance.randrange(20), "ab"[at % 2]
        words[place] = f"keyword{label}"
        made.append((Example(str(at), {"text": " ".join(words)}, label), place))
    return [each for each, _ in made], torch.tensor([place for _, place in made])


def by_scc(seed):
    """A model and its layer after 200 steps on texts with keywords, at one rate, and the texts that test it."""
    (examples, _), (unseen, places) = keywords(2000, 0), keywords(200, 1)
    classifier = start("tiny", examples, ("a", "b"), seed=seed)
    trainee = Trainee(classifier, prepare(SCC(), classifier, examples))
    optimiser, chance = torch.optim.AdamW(trainee.parameters(), lr=1e-3), random.Random(seed)
    torch.manual_seed(seed)
    trainee.train()
    for at in range(200):
        tell_epoch(trainee.objective, at // 20, 10)
        optimiser.zero_grad()
        trainee(classifier.encode(chance.choices(examples, k=32)))["loss"].backward()
        optimiser.step()
    trainee.eval()
    case = Case.bind(classifier, unseen)
    return case, trainee.objective.layer.scores(case).values, places


def finds_the_keyword_and_nothing_else(seed):
    """Whether a training from a seed meets all that is asked of it."""
    case, kept, places = by_scc(seed)
    at_keyword = kept.gather(1, places[:, None])[:, 0]
    met = {
        "comes first": (kept.argmax(1) == places).float().mean() > 0.95,
        "stands alone": (kept.sum() - at_keyword.sum()) / (19 * len(case)) < 0.05,
        # Not of both classes: one may be told by what is missing.
        "is sure": max(at_keyword[::2].mean(), at_keyword[1::2].mean()) > 0.9,
        "is enough": METRICS.create("post-hoc-accuracy(words=1)")(case, kept).values.mean() > 0.95,
        "decides": (case.output.logits.argmax(1) == case.gold).float().mean() > 0.95,
    }
    return all(met.values())


@pytest.mark.slow
def test_scc_finds_the_keyword_and_nothing_else(monkeypatch):
    """From most seeds: measured, from four of these five, and from 1 all words were masked and little was learned.

    With a rate of 1.5e-3 for the layer, from 0 and 1 one class was told by what is missing, and its keyword was not the
    first.
    """
    monkeypatch.setattr("veridical.models.new._HIDDEN", 32)
    assert sum(map(finds_the_keyword_and_nothing_else, range(5))) >= 3


DATA = "planted(train=400, length=8, seed=1)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a model that was trained with SCC."""
    folder = tmp_path_factory.mktemp("scc") / "model"
    schedule = Schedule(epochs=8, checks=1, metric="masked_loss")
    done = train(DATA, folder, model="tiny", objective="scc(anneal=training, rate=0.01)", schedule=schedule)
    assert done.test["accuracy"] > 0.95
    return folder


def test_planted_words_come_out_on_top(run):
    classifier, examples = Classifier.load(run), load(f"{DATA}:test").examples[:100]
    found = explain(classifier, examples, classifier.learned["scc"])
    hits = [
        max(zip(made.scores, made.units, strict=True))[1].span in [each.span for each in example.evidence]
        for made, example in zip(found, examples, strict=True)
    ]
    assert sum(hits) / len(hits) > 0.4  # chance is an eighth; the other class may be told by what is missing


def test_a_saved_layer_gives_the_same_scores(run, tmp_path):
    classifier = Classifier.load(run)
    layer = EXPLAINERS.create(classifier.learned["scc"])
    before = explain(classifier, ["a good day", "an odd film"], layer)
    classifier.save(tmp_path)
    again = Classifier.load(tmp_path)
    after = explain(again, ["a good day", "an odd film"], again.learned["scc"])
    assert [made.scores for made in before] == [made.scores for made in after]
    assert before[0].spec["method"] == after[0].spec["method"]


def test_an_explanation_takes_the_pass_of_the_prediction(run):
    classifier = Classifier.load(run)
    runs = []
    classifier.model.register_forward_hook(lambda *_: runs.append(1))
    (made,) = explain(classifier, ["a good day"], classifier.learned["scc"])
    assert len(runs) == 1
    assert made.measures["queries"] == 1


def test_a_layer_of_another_size_is_refused():
    classifier, examples = text_classifier()
    with pytest.raises(UnsupportedError, match="this layer reads 13 states of 768 numbers, and the model has 3 of 64"):
        SCCLayer(768, 13).scores(Case.bind(classifier, examples))


def test_layers_differ_by_what_they_have_learned():
    one, other = (SCCLayer(seed=seed) for seed in (0, 1))
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples, reader=one)
    assert not torch.equal(one.scores(case).values, other.scores(case).values)
    assert torch.equal(one.scores(case).values, one.scores(Case.bind(classifier, examples)).values)


@pytest.mark.parametrize("layer", [SCCLayer(), VMaskLayer(), VMaskLayer(every_layer=True), L2XLayer(), IBALayer()])
def test_scores_are_the_same_in_any_batch(layer):
    classifier, examples = text_classifier()
    together = layer.scores(Case.bind(classifier, examples)).values
    for at, example in enumerate(examples):
        alone = layer.scores(Case.bind(classifier, [example])).values[0]
        assert torch.allclose(alone, together[at, : len(alone)], atol=1e-5)


def test_a_batch_of_one_and_an_empty_text():
    classifier, examples = text_classifier()
    terms, _ = step(SCC(), classifier, examples[:1])
    assert all(torch.isfinite(term) for term in terms.values())
    empty = [replace(examples[0], inputs={"text": ""}), examples[1]]
    for name in NAMES:
        terms, _ = step(OBJECTIVES.create(name), classifier, empty)
        assert all(torch.isfinite(term) for term in terms.values()), name


def test_the_record_of_a_run_has_the_figures_of_the_mask(run):
    told = json.loads((run / "run.json").read_text())
    assert "masked_accuracy" in json.dumps(told)


def test_its_folder_explains_as_the_trained_one_does(run, tmp_path):
    classifier = Classifier.load(run)
    examples = load(f"{DATA}:test").examples[:6]
    folder = str(run / "explainers" / "scc")
    found = explain(classifier, examples, method=folder)
    layer = EXPLAINERS.create(folder)
    EXPLAINERS.save(layer, tmp_path / "copy")
    for method in (layer, tmp_path / "copy", classifier.learned["scc"]):
        assert [each.scores for each in explain(classifier, examples, method=method)] == [each.scores for each in found]
    assert found[0].spec["method"]["weights"] == layer.fingerprint
    assert found[0].spec["model"]["fingerprint"] == layer.made_for == classifier.fingerprint
    assert all(0 <= score <= 1 for score in found[0].scores)


def test_the_models_fingerprint_is_that_of_model_and_mask(run, tmp_path):
    classifier = Classifier.load(run)
    told = json.loads((classifier.learned["scc"] / "component.json").read_text())
    assert told["made_for"] == classifier.fingerprint
    classifier.save(tmp_path / "copy")
    copied = Classifier.load(tmp_path / "copy")
    assert copied.learned == {"scc": tmp_path / "copy" / "explainers" / "scc"}
    assert copied.fingerprint == classifier.fingerprint
    copied.learned = {}
    assert copied.fingerprint != classifier.fingerprint


def test_another_model_is_refused(run, trained):
    folder, stranger = run / "explainers" / "scc", Classifier.load(trained)
    made_for = Classifier.load(run).fingerprint
    problem = f"scc was trained with the model {made_for}, and this is the model {stranger.fingerprint}"
    with pytest.raises(UnsupportedError, match=problem):
        explain(stranger, ["good"], method=folder)
    examples = load(f"{DATA}:test").examples[:3]
    layer = EXPLAINERS.create(folder)
    planned = plan(stranger, examples, [layer], [METRICS.create("comprehensiveness")])
    assert problem in planned.skipped[EXPLAINERS.written(layer)]


def test_a_model_that_is_trained_further_is_another(run):
    classifier = Classifier.load(run)
    with torch.no_grad():
        classifier.model.classifier.bias.add_(1)
    with pytest.raises(UnsupportedError, match="was trained with the model"):
        explain(classifier, ["good"], method=classifier.learned["scc"])


def test_a_run_of_another_objective_leaves_nothing(trained):
    assert Classifier.load(trained).learned == {}
    assert not (Path(trained) / "explainers").exists()


def test_the_name_of_a_layer_stands_for_the_models_own(run):
    classifier = Classifier.load(run)
    by_name, by_folder = (explain(classifier, ["a good day"], method) for method in ("scc", classifier.learned["scc"]))
    assert by_name[0].scores == by_folder[0].scores
    assert by_name[0].spec == by_folder[0].spec
    planned = plan(classifier, load(f"{DATA}:test").examples[:3], [EXPLAINERS.create("scc")], [METRICS.create("aopc")])
    assert EXPLAINERS.spec(planned.methods["scc"])["weights"] == by_name[0].spec["method"]["weights"]


def test_a_layer_that_the_model_does_not_have(run, trained):
    with pytest.raises(UnsupportedError, match=r"this model has none of that name \(it has: none\).*--objective scc"):
        explain(Classifier.load(trained), ["good"], "scc")
    with pytest.raises(UnsupportedError, match=r"vmask has to be learned.*\(it has: scc\)"):
        explain(Classifier.load(run), ["good"], "vmask")
    examples = load(f"{DATA}:test").examples[:3]
    planned = plan(Classifier.load(run), examples, [EXPLAINERS.create("vmask")], [METRICS.create("aopc")])
    assert "this model has none of that name" in planned.skipped["vmask"]


def test_a_layer_keeps_the_options_that_it_was_trained_with(run):
    with pytest.raises(UsageError, match=r"scc has its option 'width' already.*Only these can be given: pieces\."):
        explain(Classifier.load(run), ["good"], "scc(width=7)")


def test_a_message_lists_what_can_be_given_and_nothing_else():
    with pytest.raises(UsageError, match=r"unknown option of iba 'lam'.*There are: pieces, score\.$"):
        EXPLAINERS.create("iba(lam=true)")


def test_how_pieces_make_a_word_can_be_said_of_a_layer_that_has_learned(run):
    """By its name or its folder: the sum of pieces is their mean times their number."""
    classifier, text = Classifier.load(run), ["unbelievably good"]
    pieces = (classifier.encode([Example("0", {"text": text[0]})]).rows.unit_of == 0).sum().item()
    assert pieces > 1
    mean = explain(classifier, text, "scc")[0]
    for method in ("scc(pieces=sum)", f"{classifier.learned['scc']}(pieces=sum)"):
        total = explain(classifier, text, method)[0]
        assert total.scores[0] == pytest.approx(mean.scores[0] * pieces)
        assert total.spec["method"] == {**mean.spec["method"], "pieces": "sum"}
    both = plan(
        classifier, load(f"{DATA}:test").examples[:3], methods_of("scc, scc(pieces=sum)")[0], [METRICS.create("aopc")]
    )
    assert {"scc", "scc(pieces=sum)"} < both.methods.keys()


def test_what_iba_tells_of_a_word():
    classifier, examples = text_classifier()
    network = IBALayer(seed=3)
    case = Case.bind(classifier, examples)
    nats, kept = (IBALayer(seed=3, score=each).scores(case).values for each in ("nats", "kept"))
    assert (kept[case.live] < 1).all()
    assert (nats[case.live] > 1).all()
    with torch.no_grad():
        shares = network.logits(classifier.run(case.batch.rows, hidden=True).hidden).sigmoid()
    torch.testing.assert_close(kept, case.to_units(shares, "mean") * case.live)


def test_rare_words_are_drawn_while_a_model_runs_in_bfloat16():
    """A chance of .003 has no like among the 8 bits of bfloat16, where it would be never."""
    layer = SCCLayer(size=8, states=2)
    with torch.no_grad():
        for weight in layer.network.parameters():
            weight.zero_()
        layer.network.last.bias.fill_(torch.tensor(0.003).logit())
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        logits = layer.logits([torch.zeros(10_000, 100, 8)] * 2)
        drawn = concrete(logits, 1.0, hard=True)
    assert drawn.mean().item() == pytest.approx(0.003, rel=0.1)
