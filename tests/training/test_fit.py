"""The fit loop: it learns, logs its terms, keeps the best, stops early, and goes on after an interruption."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import TrainerCallback

from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case, Engine
from veridical.models.classifier import fingerprint_of
from veridical.models.new import start
from veridical.models.weights import Learned
from veridical.objectives import OBJECTIVES, CrossEntropy, SaLoss, Sum
from veridical.objectives.base import modules_in
from veridical.training import Schedule
from veridical.training.evaluation import evaluate, macro_f1, pearson
from veridical.training.fit import fit
from veridical.training.trainer import ByLength, Trainee

TRAIN = "planted(train=400, length=8):train"
DEV = "planted(train=400, length=8):dev[:100]"


@pytest.fixture(scope="module")
def data():
    return load(TRAIN), load(DEV)


def begin(data, **settings):
    return start("tiny", data[0], data[0].labels, **settings)


def with_dropout(data):
    """A tiny model that drops out, of words' vectors and of attention."""
    classifier = begin(data)
    for module in classifier.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1
    return classifier


def test_it_learns_what_is_there_to_learn(data, tmp_path):
    classifier = begin(data)
    fitted = fit(classifier, CrossEntropy(), *data, tmp_path, Schedule(epochs=4, checks=1))
    assert fitted.dev["accuracy"] > 0.98
    assert evaluate(classifier, data[1])["accuracy"] == fitted.dev["accuracy"]  # the best weights are in place
    losses = [line["cross_entropy"] for line in fitted.history if "cross_entropy" in line]
    assert losses[-1] < 0.2 < losses[0]


@dataclass(frozen=True)
class TwoTerms:
    needs = frozenset()

    def __call__(self, case):
        loss = CrossEntropy()(case)["cross_entropy"]
        return {"fit": loss, "size": 0.5 * case.output.logits.square().mean()}


def test_every_term_is_logged_and_their_sum_is_minimised(data, tmp_path):
    fitted = fit(begin(data), TwoTerms(), *data, tmp_path, Schedule(epochs=1, batch_size=100))
    lines = [line for line in fitted.history if "fit" in line]
    assert lines
    for line in lines:
        assert line["loss"] == pytest.approx(line["fit"] + line["size"], abs=1e-5)


class WithWeights(nn.Module):
    needs = frozenset({"hidden"})

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def __call__(self, case):
        assert case.output.hidden is not None
        return {"scaled": CrossEntropy()(case)["cross_entropy"] * self.scale.square().sum()}


@dataclass(frozen=True)
class Holding:
    """An objective whose weights are in what it holds."""

    held: object
    rate: float | None = None
    needs = frozenset()

    def __call__(self, case):
        (module,) = modules_in(self)
        keep = module(torch.ones(1, module.in_features)).mean()
        return {"scaled": CrossEntropy()(case)["cross_entropy"] * keep.square()}


class Halved(nn.Module):
    needs = frozenset()
    rate = 1e-12

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, case):
        return {"halved": CrossEntropy()(case)["cross_entropy"] * self.scale.square().sum() / 2}


@dataclass(frozen=True)
class Line(Learned):
    size: int = 3

    def build(self):
        return nn.Linear(self.size, 1)


def held_in(how):
    module = nn.Linear(3, 1)
    return {"field": module, "list": [module], "mapping": {"one": (module,)}, "learned": Line()}[how]


@pytest.mark.parametrize("within_sum", [False, True])
@pytest.mark.parametrize("how", ["is", "field", "list", "mapping", "learned"])
def test_the_weights_of_an_objective_are_trained_and_in_the_checkpoint(how, within_sum, data, tmp_path):
    objective = WithWeights() if how == "is" else Holding(held_in(how))
    (module,) = modules_in(objective)
    before = [values.detach().clone() for values in module.parameters()]
    whole = Sum((SaLoss(), objective)) if within_sum else objective
    fitted = fit(begin(data), whole, data[0][:64], data[1][:20], tmp_path, Schedule(epochs=1, checks=1))
    after = dict(module.named_parameters())
    assert all(not torch.equal(old, new) for old, new in zip(before, after.values(), strict=True))
    assert not module.training
    (trained,) = modules_in(fitted.objective)
    assert trained is module
    (checkpoint,) = tmp_path.glob("checkpoint-*/model.safetensors")
    saved = load_file(checkpoint)
    for name, values in after.items():
        (found,) = [each for key, each in saved.items() if key.startswith("parts.") and key.endswith(f".{name}")]
        assert torch.equal(found, values)


def test_modules_of_the_model_itself_are_not_the_objectives(data):
    classifier = begin(data)
    trainee = Trainee(classifier, Holding([classifier.model.classifier, classifier.model]))
    assert len(trainee.parts) == 0
    shared = nn.Linear(2, 2)
    assert len(Trainee(classifier, Sum((Holding(shared), Holding([shared])))).parts) == 1


def test_an_objectives_own_weights_learn_at_their_own_rate(data, tmp_path):
    fast, slow = Holding(nn.Linear(3, 1), rate=1e-1), Halved()
    before = fast.held.weight.detach().clone()
    schedule = Schedule(epochs=1, checks=1, rate=1e-12, head_rate=1e-12)
    fit(begin(data), Sum((fast, slow)), data[0][:64], data[1][:20], tmp_path, schedule)
    assert (fast.held.weight - before).abs().max() > 1e-2
    assert (slow.scale - 1).abs().max() < 1e-6


def test_without_a_rate_of_its_own_it_learns_at_the_heads(data, tmp_path):
    objective = Holding(nn.Linear(3, 1))
    before = objective.held.weight.detach().clone()
    fit(begin(data), objective, data[0][:64], data[1][:20], tmp_path, Schedule(epochs=1, rate=1e-12, head_rate=1e-1))
    assert (objective.held.weight - before).abs().max() > 1e-2


@dataclass(frozen=True)
class Judging:
    """An objective with a dev figure: after each look it is better or worse by one."""

    name: str = "turns"
    step: float = 1.0
    looks: list = field(default_factory=list)
    needs = frozenset()

    def evaluate(self, classifier, examples):
        assert len(classifier.encode(list(examples))) == len(examples)
        self.looks.append(len(examples))
        return {self.name: self.step * len(self.looks)}

    def __call__(self, case):
        return CrossEntropy()(case)


@pytest.mark.parametrize(("name", "step", "best"), [("turns", 1.0, -1), ("turns", -1.0, 0), ("turns_loss", -1.0, -1)])
def test_the_best_checkpoint_by_the_objectives_own_figure(name, step, best, data, tmp_path):
    schedule = Schedule(epochs=3, checks=1, metric=name)
    fitted = fit(begin(data), Judging(name, step), data[0][:64], data[1][:20], tmp_path, schedule)
    logged = [line[f"eval_{name}"] for line in fitted.history if f"eval_{name}" in line]
    assert len(logged) == 3
    assert fitted.dev[name] == logged[best]
    assert {"accuracy", "macro_f1", "loss"} <= fitted.dev.keys()


class Remembering(TrainerCallback):
    """Keeps the dev loss and the head's weights of each look."""

    def __init__(self):
        self.seen = {}

    def on_evaluate(self, args, state, control, metrics, model, **_):
        self.seen[metrics["eval_loss"]] = model.model.classifier.weight.detach().clone()


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(("rate", "lowest"), [(1e-3, 3), (0.3, 0)], ids=["loss falls", "loss goes up and down"])
def test_of_equally_good_checkpoints_the_one_with_the_lowest_loss_is_kept(rate, lowest, stopped, data, tmp_path):
    """Also if it was stopped after a look: the log tells what the best loss was."""
    schedule = Schedule(epochs=4, checks=1, metric="turns", rate=rate, head_rate=rate)
    small, looks, classifier = (data[0][:64], data[1][:20]), Remembering(), begin(data)
    if stopped:
        with pytest.raises(KeyboardInterrupt):
            fit(begin(data), Judging(step=0.0), *small, tmp_path, schedule, [StopAt(5), looks])
    fitted = fit(classifier, Judging(step=0.0), *small, tmp_path, schedule, [looks])
    losses = [line["eval_loss"] for line in fitted.history if "eval_loss" in line]
    assert len(set(losses)) == 4
    assert fitted.dev["loss"] == min(losses)
    assert losses.index(min(losses)) == lowest
    assert torch.equal(classifier.model.classifier.weight, looks.seen[min(losses)])


@dataclass(frozen=True)
class Falling(Judging):
    """Says the same figure at each look and a loss of that figure which falls; it says by what to judge, too."""

    def evaluate(self, classifier, examples):
        self.looks.append(1)
        return {"mine_accuracy": 0.5, "mine_loss": 1.0 / len(self.looks)}

    def best_by(self, classifier):
        return "mine_accuracy"


def test_a_figure_has_its_own_loss_and_an_objective_its_own_figure(data, tmp_path):
    """The model stays as it is, so by its own loss the first of all checkpoints would be the best."""
    schedule = Schedule(epochs=3, checks=1, rate=1e-12, head_rate=1e-12)
    fitted = fit(begin(data), Falling(), data[0][:64], data[1][:20], tmp_path, schedule)
    losses = [line["eval_mine_loss"] for line in fitted.history if "eval_mine_loss" in line]
    assert fitted.dev["mine_loss"] == min(losses) == losses[-1]
    assert len(losses) == 3


def test_a_better_figure_beats_a_lower_loss(data, tmp_path):
    schedule = Schedule(epochs=3, checks=1, metric="turns")
    fitted = fit(begin(data), Judging(step=-1.0), data[0][:64], data[1][:20], tmp_path, schedule)
    losses = [line["eval_loss"] for line in fitted.history if "eval_loss" in line]
    assert fitted.dev["loss"] == losses[0] > min(losses)


@dataclass(frozen=True)
class Diverging:
    """An objective whose loss is no number from a step on; its dev figure is the better the later."""

    after: int
    steps: list = field(default_factory=list)
    looks: list = field(default_factory=list)
    needs = frozenset()

    def evaluate(self, classifier, examples):
        self.looks.append(0)
        return {"turns": len(self.looks)}

    def __call__(self, case):
        self.steps.append(0)
        return {"fit": CrossEntropy()(case)["cross_entropy"] * (1 if len(self.steps) <= self.after else torch.nan)}


def test_a_training_that_diverges_stops_and_keeps_what_was_best_before(data, tmp_path):
    schedule, classifier = Schedule(epochs=9, checks=1, metric="turns"), begin(data)
    fitted = fit(classifier, Diverging(after=5), data[0][:64], data[1][:20], tmp_path, schedule)
    assert [line["step"] for line in fitted.history if "eval_loss" in line] == [2, 4, 6]
    assert fitted.dev["turns"] == [line["eval_turns"] for line in fitted.history if "eval_turns" in line][1]
    assert all(values.isfinite().all() for values in classifier.model.parameters())
    assert "training diverged and was stopped at step 6: the dev loss was not a number" in " ".join(fitted.notes)


def test_a_training_that_never_was_a_number_is_an_error(data, tmp_path):
    with pytest.raises(ModelError, match="training diverged: the dev loss is not a number. Lower the learning rates"):
        fit(begin(data), Diverging(after=0), data[0][:64], data[1][:20], tmp_path, Schedule(epochs=3, checks=1))


def test_a_folder_that_was_moved_still_has_its_best_checkpoint(data, tmp_path):
    """Stopped after the last step, when only the best weights were left to be taken."""
    schedule, small = Schedule(epochs=3, checks=1, metric="turns"), (data[0][:64], data[1][:20])
    fit(begin(data), Judging(step=-1.0), *small, tmp_path / "here", schedule)
    first = load_file(tmp_path / "here" / "checkpoint-2" / "model.safetensors")
    (tmp_path / "here").rename(tmp_path / "there")
    again = begin(data)
    fitted = fit(again, Judging(step=-1.0), *small, tmp_path / "there", schedule)
    assert fitted.resumed_from == 6
    assert torch.equal(again.model.classifier.weight, first["model.classifier.weight"])


def test_a_figure_that_nobody_has_is_named_before_training(data, tmp_path):
    with pytest.raises(UsageError, match="unknown dev figure 'turn'. Did you mean 'turns'.*accuracy, loss, macro_f1"):
        fit(begin(data), Judging(), *data, tmp_path, Schedule(metric="turn"))
    with pytest.raises(UsageError, match="Judging has a dev figure 'accuracy', as the classifier has"):
        fit(begin(data), Judging("accuracy"), *data, tmp_path)
    assert not list(tmp_path.iterdir())


def test_training_stops_when_nothing_improves(data, tmp_path):
    schedule = Schedule(epochs=50, checks=1, patience=2, rate=1e-9, head_rate=1e-9)
    fitted = fit(begin(data), CrossEntropy(), *data, tmp_path, schedule)
    assert fitted.history[-1]["epoch"] <= 4


def test_head_and_encoder_learn_at_their_own_rates(data, tmp_path):
    classifier = begin(data)
    before = {name: values.clone() for name, values in classifier.model.named_parameters()}
    fit(classifier, CrossEntropy(), *data, tmp_path, Schedule(epochs=1, rate=1e-12, head_rate=1e-2))
    for name, values in classifier.model.named_parameters():
        moved = float((values - before[name]).detach().abs().max())
        # The pooler of a new model has learned no more than its head.
        assert moved > 1e-3 if name.startswith(("classifier.", "bert.pooler.")) else moved < 1e-6, name


def test_a_pooler_that_was_trained_before_learns_at_the_encoders_rate(data, tmp_path):
    classifier = begin(data)
    with torch.no_grad():
        classifier.model.bert.pooler.dense.bias.fill_(0.1)
    classifier.save(tmp_path / "trained")
    again = start(str(tmp_path / "trained"), data[0], data[0].labels)
    before = again.model.bert.pooler.dense.weight.detach().clone()
    fit(again, CrossEntropy(), *data, tmp_path / "run", Schedule(epochs=1, rate=1e-12, head_rate=1e-2))
    assert (again.model.bert.pooler.dense.weight - before).abs().max() < 1e-6


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_resumed_training_trains_everything_at_the_same_rates(pooling, data, tmp_path):
    schedule = Schedule(epochs=2, checks=2, rate=1e-4, head_rate=1e-2)
    whole = begin(data, pooling=pooling)
    fit(whole, CrossEntropy(), *data, tmp_path / "whole", schedule)
    for again in (begin(data, pooling=pooling), None):
        broken = begin(data, pooling=pooling)
        folder = tmp_path / f"broken-{again is None}"
        with pytest.raises(KeyboardInterrupt):
            fit(broken, CrossEntropy(), *data, folder, schedule, [StopAt(18)])
        resumed = again or broken  # a new one, or in a notebook the very same, whose pooler has learned meanwhile
        assert fit(resumed, CrossEntropy(), *data, folder, schedule).resumed_from == 14
        assert fingerprint_of(resumed.model.state_dict()) == fingerprint_of(whole.model.state_dict())


def test_the_same_seed_gives_the_same_weights(data, tmp_path):
    def weights(seed, folder):
        classifier = begin(data, seed=seed)
        fit(classifier, CrossEntropy(), *data, tmp_path / folder, Schedule(epochs=1, seed=seed))
        return torch.cat([values.flatten() for values in classifier.model.state_dict().values()])

    first = weights(1, "a")
    assert torch.equal(first, weights(1, "b"))
    assert not torch.equal(first, weights(2, "c"))


WEIGHT_0 = [
    "saloss(lam=0)",
    "random-erasure(weight=0)",
    "rationale(sufficiency=0, comprehensiveness=0)",
    "saloss(lam=0) + random-erasure(weight=0) + cross-entropy",
]


@pytest.mark.parametrize("text", WEIGHT_0)
def test_weight_0_is_plain_training_bit_for_bit(text, data, tmp_path):
    schedule, small = Schedule(epochs=1, checks=1), (data[0][:96], data[1][:20])
    plain, idle = with_dropout(data), with_dropout(data)
    fit(plain, CrossEntropy(), *small, tmp_path / "plain", schedule)
    fit(idle, OBJECTIVES.create(text), *small, tmp_path / "idle", schedule)
    for name, values in plain.model.state_dict().items():
        assert torch.equal(idle.model.state_dict()[name], values), name


@dataclass(frozen=True)
class Prepared:
    seen: int = 0
    needs = frozenset()

    def prepared(self, classifier, examples):
        return Prepared(len(classifier.encode(examples[:3].examples)) + len(examples))

    def __call__(self, case):
        return {"fit": CrossEntropy()(case)["cross_entropy"] + 100 * self.seen}


def test_an_objective_sees_the_training_data_once_before_training(data, tmp_path):
    fitted = fit(begin(data), Prepared(), *data, tmp_path, Schedule(epochs=1, checks=1))
    assert all(line["fit"] >= 100 * 403 for line in fitted.history if "fit" in line)


@dataclass(frozen=True)
class Watching:
    """An objective that looks at attention, and remembers how far it is from adding up to 1."""

    needs = frozenset({"attentions"})
    gaps: list = field(default_factory=list)

    def __call__(self, case):
        assert case.classifier.model.training
        self.gaps.append((case.output.attentions[-1].sum(-1) - 1).abs().max().item())
        return CrossEntropy()(case)


def test_attention_that_an_objective_looks_at_is_whole(data, tmp_path):
    classifier, objective = with_dropout(data), Watching()
    fit(classifier, objective, data[0][:64], data[1][:20], tmp_path, Schedule(epochs=1, checks=1))
    assert max(objective.gaps) < 1e-5
    assert classifier.model.bert.encoder.layer[0].attention.self.dropout.p == 0.1


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.step:
            raise KeyboardInterrupt


RESUMED = [
    "cross-entropy",
    "saloss(lam=0.1, salience=chi2)",
    "saloss + random-erasure(empty=0.5) + rationale",
    "scc",
    "iba",
    "l2x",
    "simcse",
    "random-erasure + vmask(rate=0.001)",
]


@pytest.mark.parametrize("objective", [OBJECTIVES.create(text) for text in RESUMED], ids=RESUMED)
def test_a_resumed_training_ends_with_the_same_weights(objective, data, tmp_path):
    schedule = Schedule(epochs=2, checks=2)
    whole = with_dropout(data)
    first = fit(whole, objective, *data, tmp_path / "whole", schedule)
    broken = with_dropout(data)
    with pytest.raises(KeyboardInterrupt):
        fit(broken, objective, *data, tmp_path / "broken", schedule, [StopAt(18)])
    torn = tmp_path / "broken" / "checkpoint-21"  # killed while it was written: the state, which comes last, is cut
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"global_step": 2')
    again = with_dropout(data)
    fitted = fit(again, objective, *data, tmp_path / "broken", schedule)
    assert fitted.resumed_from == 14
    assert fitted.dev == first.dev
    # To the last digit.
    assert fingerprint_of(again.model.state_dict()) == fingerprint_of(whole.model.state_dict())
    own, resumed = (list(modules_in(each.objective)) for each in (first, fitted))
    assert [fingerprint_of(part.state_dict()) for part in own] == [
        fingerprint_of(part.state_dict()) for part in resumed
    ]
    assert len(own) == any(name in OBJECTIVES.written(objective) for name in ("scc", "iba", "vmask", "l2x", "simcse"))


KILLED = """
import sys
from veridical.run.train import train
from veridical.training import Schedule
train("planted(train=400, length=8)", sys.argv[1], model="tiny", schedule=Schedule(epochs=400, checks=4, patience=8))
"""


def test_killed_and_started_again_it_goes_on(tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(out)])
    deadline = time.monotonic() + 120
    while len(list(out.glob("checkpoint-*/trainer_state.json"))) < 2:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "model.safetensors").exists()
    subprocess.run([sys.executable, "-c", KILLED, str(out)], check=True)
    record = json.loads((out / "run.json").read_text())
    assert record["done"]
    assert record["dev"]["accuracy"] > 0.98
    assert not list(out.glob("checkpoint-*"))


def test_regression_is_trained_by_squared_error(tmp_path):
    words = ["zero", "one", "two", "three"]
    examples = [Example(str(index), {"text": f"say {words[index % 4]} now"}, float(index % 4)) for index in range(200)]
    classifier = start("tiny", examples, [])
    fitted = fit(classifier, CrossEntropy(), examples, examples[:40], tmp_path, Schedule(epochs=12, checks=1))
    assert fitted.dev["pearson"] > 0.95
    assert "squared_error" in fitted.history[0]


def test_images_are_trained_the_same_way(tmp_path):
    data = load("planted-images:train[:300]"), load("planted-images:dev[:60]")
    fitted = fit(start("tiny", data[0], data[0].labels), CrossEntropy(), *data, tmp_path, Schedule(epochs=4, checks=1))
    assert fitted.dev["accuracy"] > 0.9


def test_a_label_the_model_does_not_know_is_named_before_training(data, tmp_path):
    odd = [*data[0], Example("odd", {"text": "x"}, "maybe")]
    with pytest.raises(InputError, match="example odd, field 'label': 'maybe'"):
        fit(begin(data), CrossEntropy(), odd, data[1], tmp_path)


def test_one_class_only(data, tmp_path):
    same = [example for example in data[0] if example.label == "positive"]
    with pytest.raises(InputError, match="all training examples have the label 'positive'"):
        fit(begin(data), CrossEntropy(), same, data[1], tmp_path)


def test_an_empty_split(data, tmp_path):
    with pytest.raises(InputError, match="dev split is empty"):
        fit(begin(data), CrossEntropy(), data[0], [], tmp_path)


@dataclass(frozen=True)
class Impossible:
    needs: frozenset = field(default=frozenset({"telepathy"}))

    def __call__(self, case):
        raise NotImplementedError


def test_an_objective_the_model_cannot_support_is_named_at_once(data, tmp_path):
    with pytest.raises(UnsupportedError, match="Impossible needs telepathy"):
        fit(begin(data), Impossible(), *data, tmp_path)


def test_texts_of_similar_length_come_together():
    lengths = torch.randint(1, 100, (3210,), generator=torch.Generator().manual_seed(0)).tolist()
    sampler = ByLength(lengths, batch_size=32, seed=0)
    order = list(sampler)
    assert sorted(order) == list(range(3210))
    batches = [order[start : start + 32] for start in range(0, 3210, 32)]
    spread = sum(max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in batches) / len(batches)
    assert spread < 10
    assert list(sampler) == order
    sampler.set_epoch(1)
    assert list(sampler) != order


def test_the_trainee_gives_one_loss_for_wrappers_of_many_devices(data):
    classifier = begin(data)
    trainee = Trainee(classifier, CrossEntropy())
    output = trainee(classifier.encode(data[0][:8].examples))
    assert output["loss"].requires_grad
    assert {name.split(".")[0] for name, _ in trainee.named_parameters()} == {"model"}


def test_macro_f1_and_pearson():
    predicted, gold = torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 1, 1, 0])
    assert macro_f1(predicted, gold) == pytest.approx((0.5 + 2 / 3) / 2)
    found = pearson(torch.tensor([1.0, 2, 3, 4]), torch.tensor([1.1, 1.9, 3.5, 3.6]))
    assert found == pytest.approx(0.956307, abs=1e-6)
    assert pearson(torch.ones(3), torch.tensor([1.0, 2, 3])) == 0


def test_a_case_of_a_training_step_carries_gradients(data):
    classifier = begin(data)
    batch = classifier.encode(data[0][:4].examples)
    case = Case.of_output(classifier, batch, classifier.forward(batch))
    assert case.output.logits.requires_grad
    assert case.targets.tolist() == case.gold.tolist()
    assert not Engine().predict(classifier, data[1][:2].examples).requires_grad
