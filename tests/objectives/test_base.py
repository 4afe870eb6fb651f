"""Sums of objectives: how they are written, what they share, and what they refuse."""

from dataclasses import dataclass

import pytest
import torch

from veridical.core.errors import UsageError
from veridical.masking import Case
from veridical.objectives import OBJECTIVES, CrossEntropy, RandomErasure, Regex, SaLoss, Sum
from veridical.objectives.base import forward, prepare
from veridical.testing import check_objective, text_classifier


def terms(objective):
    classifier, examples = text_classifier()
    batch = classifier.encode(examples)
    objective = prepare(objective, classifier, examples)
    return objective(Case.of_output(classifier, batch, forward(classifier, batch, objective)))


def test_a_sum_is_read_and_written():
    text = "saloss(lam=0.01, salience='textrank(window=8)') + regex(l3=0.0)"
    made = OBJECTIVES.create(text)
    assert made == Sum((SaLoss(lam=0.01, salience="textrank(window=8)"), Regex(l3=0.0)))
    assert OBJECTIVES.from_spec(OBJECTIVES.spec(made)) == made
    assert OBJECTIVES.written(made) == text


def test_one_objective_is_no_sum():
    assert OBJECTIVES.create("saloss") == SaLoss()
    assert OBJECTIVES.spec(SaLoss())["name"] == "saloss"
    assert OBJECTIVES.create(SaLoss()) == SaLoss()
    assert OBJECTIVES.written(SaLoss()) == "saloss"


@pytest.mark.parametrize(
    ("text", "problem", "character"),
    [
        ("saloss +", "expected a name", 9),
        ("saloss ++ regex", "expected a name", 9),
        ("saloss(lam) + regex", "expected '='", 11),
        ("saloss(lam=0.1 + regex", "expected ',' or '\\)'", 23),
        ("saloss, regex", "unexpected ','", 7),
    ],
)
def test_wrong_syntax_points_at_the_character(text, problem, character):
    with pytest.raises(UsageError, match=f"{problem}.* at character {character}:") as error:
        OBJECTIVES.create(text)
    assert str(error.value).splitlines()[-1].index("^") == character + 1  # below the text, which is indented by 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("saloss + regx", "unknown objective 'regx'.*Did you mean 'regex'"),
        ("saloss(lamda=1) + regex", "unknown option of saloss 'lamda'"),
        ("saloss(salience=textrnk)", "unknown salience 'textrnk'.*Did you mean 'textrank'"),
        ("saloss(salience='textrank(')", "expected an option name at character 10"),
        ("random-erasure(eraser=mst)", "unknown eraser 'mst'"),
        ("saloss + saloss(lam=1)", "saloss is added to itself"),
        ("saloss + regex(l1=2)", "saloss weighs the plain loss by 1, regex by 2"),
    ],
)
def test_what_cannot_be_is_refused_before_training(text, problem):
    with pytest.raises(UsageError, match=problem):
        OBJECTIVES.create(text)


def test_the_plain_loss_counts_once():
    found = terms(OBJECTIVES.create("saloss(lam=1) + rationale + cross-entropy"))
    assert set(found) == {"cross_entropy", "salience", "sufficiency", "comprehensiveness"}
    assert torch.equal(found["cross_entropy"], terms(CrossEntropy())["cross_entropy"])
    assert torch.equal(found["salience"], terms(SaLoss(lam=1))["salience"])


def test_a_sum_needs_what_its_parts_need():
    assert Sum((SaLoss(), RandomErasure(eraser="pad"))).needs == {"cls-attentions", "pad"}
    assert Sum((SaLoss(lam=0.0), RandomErasure(weight=0.0))).needs == frozenset()


@dataclass(frozen=True)
class Heavier:
    needs = frozenset()

    def __call__(self, case):
        return {"cross_entropy": 2 * CrossEntropy()(case)["cross_entropy"]}


def test_terms_that_differ_under_one_name_are_refused():
    with pytest.raises(UsageError, match="disagree about the term 'cross_entropy'.* in Heavier"):
        terms(Sum((SaLoss(), Heavier())))


@pytest.mark.parametrize("text", ["saloss + regex", "saloss + random-erasure(empty=1) + rationale"])
def test_sums_keep_the_contract_of_objectives(text):
    check_objective(OBJECTIVES.create(text))
