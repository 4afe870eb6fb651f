"""Reading what is asked for, and keeping what is possible."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from veridical import Classifier, Example
from veridical.audits.plan import methods_of, metrics_of, named, plan
from veridical.core.errors import InputError, UsageError
from veridical.core.values import HUMAN
from veridical.explainers import EXPLAINERS, Explainer
from veridical.metrics import METRICS
from veridical.metrics.sets import SETS
from veridical.testing import Formula
from veridical.testing.families import family

TEXTS = [Example("0", {"text": "good day"}), Example("1", {"text": "bad day"})]


def written(metrics):
    return [METRICS.written(each) for each in metrics]


@pytest.mark.parametrize("name", SETS)
def test_every_set_names_metrics_that_exist(name):
    assert len(metrics_of(name)) == len(SETS[name].metrics)


def test_what_is_named_twice_is_measured_once():
    assert (
        written(metrics_of("decision-flip, saloss, decision-flip, decision-flip(step=0.2)")).count("decision-flip") == 1
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("erasr", "unknown metric or set of metrics 'erasr'. Did you mean 'eraser'"),
        ("comprehensivness", "Did you mean 'comprehensiveness'"),
        ("scc(ratio=0.2)", "scc is a set of metrics, and takes no options"),
        ("", "expected a name"),
        ("sufficiency,", "expected a name"),
        ("sufficiency(no=1)", "unknown option of sufficiency 'no'"),
    ],
)
def test_mistakes_in_lists_of_metrics(text, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        metrics_of(text)


def test_people_are_asked_for_by_name_only():
    found, people = methods_of("human, occlusion")
    assert ([EXPLAINERS.name_of(each) for each in found], people) == (["occlusion"], True)
    assert methods_of("occlusion")[1] is False
    with pytest.raises(UsageError, match="takes no options"):
        methods_of("human(field=text)")
    with pytest.raises(UsageError, match="Did you mean 'human'"):
        methods_of("humn")


def test_chance_is_always_there_once():
    model = Formula.linear({"good": 1.0})
    for asked in ("gradient", "gradient, random"):
        made = plan(model, TEXTS, methods_of(asked)[0], metrics_of("decision-flip")).methods
        assert list(made) == ["gradient", "random"]
    seeds = plan(model, TEXTS, methods_of("random(seed=7)")[0], metrics_of("decision-flip")).methods
    assert list(seeds) == ["random(seed=7)", "random"]


def test_two_examples_of_one_id_are_refused():
    with pytest.raises(InputError, match="example 0: another example has the same id"):
        plan(Formula.linear({"good": 1.0}), [*TEXTS, TEXTS[0]], [], metrics_of("decision-flip"))


def test_a_model_that_gives_a_number_is_not_asked_for_classes():
    model = Classifier.load(lambda texts: [float(len(text)) for text in texts])
    made = plan(model, TEXTS, [], metrics_of("comprehensiveness, normalised-aopc"))
    assert made.skipped["comprehensiveness"] == "it needs a model with classes, and this one gives a number"
    assert not any("comprehensiveness" in why for why in made.skipped.values())
    assert list(made.metrics) == ["normalised-aopc"]


def test_lists_hold_names_sets_folders_and_objects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()  # a folder that is called like a set of metrics, and one like a method
    (tmp_path / "gradient").mkdir()
    METRICS.save(METRICS.create("log-odds(words=positive)"), "mine, (new)")
    found = metrics_of(["models", METRICS.create("stability"), "mine, (new)", "stability"])
    assert written(found) == [*SETS["models"].metrics, "stability", "'mine, (new)'"]
    methods, people = methods_of(["gradient", HUMAN, EXPLAINERS.create("lime")])
    assert ([EXPLAINERS.written(each) for each in methods], people) == (["gradient", "lime"], True)
    assert written(metrics_of(METRICS.create("stability"))) == ["stability"]  # one alone


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["gradient", "humn"], "unknown explainer 'humn'. Did you mean 'human'"),
        (["human(field=text)"], "takes no options"),
        (["gradient, lime"], "unexpected ','"),
        ([METRICS.create("stability")], "Stability cannot be used as explainer"),
        ([3], "int 3 cannot be used as explainer"),
        (["runs/nothing"], "runs/nothing holds no explainer"),
    ],
)
def test_mistakes_in_lists_of_methods(asked, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        methods_of(asked)


def test_an_audit_by_no_metric_is_refused():
    with pytest.raises(UsageError, match="there is no metric to judge by"):
        plan(Formula.linear({"good": 1.0}), TEXTS, [], metrics_of([]))


@dataclass(frozen=True)
class Tuned(Explainer):
    """A method that has learned something with an eraser; two may differ in what they learned only."""

    eraser: str = "mask"
    fingerprint: ClassVar[str] = "0123456789abcdef"

    def scores(self, case):
        raise NotImplementedError

    def save_weights(self, folder):
        """What makes it one with weights."""


def test_different_methods_have_different_names():
    one, other = Tuned(), Tuned()
    object.__setattr__(other, "fingerprint", "fedcba9876543210")
    first, second = named(EXPLAINERS, [one, other, one])
    assert (first, second[:6], len(second)) == ("Tuned", "Tuned ", 12)


def test_what_was_learned_with_an_eraser_keeps_it():
    found = plan(family("gpt2"), TEXTS, [Tuned(), EXPLAINERS.create("lime")], metrics_of("log-odds"))
    assert list(found.methods) == ["lime(eraser=delete)", "random"]
    assert found.skipped["Tuned"] == "erasing by 'mask' is not possible with gpt2 models"
    assert "lime(eraser=delete) is measured instead" in found.skipped["lime"]
    assert "log-odds(eraser=delete) is measured instead" in found.skipped["log-odds"]
