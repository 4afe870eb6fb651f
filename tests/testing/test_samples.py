"""The samples are what the contracts need them to be."""

import torch

from veridical.masking import Case
from veridical.testing import multi_label_classifier


def test_the_multi_label_sample_has_texts_with_one_and_with_several_targets():
    classifier, examples = multi_label_classifier()
    case = Case.bind(classifier, examples)
    counts = torch.tensor([case.batch.examples.count(example) for example in examples])
    assert classifier.is_multi_label
    assert (counts == 1).any()
    assert (counts > 1).any()


def test_a_multi_label_sample_may_choose_no_label_at_all():
    classifier, examples = multi_label_classifier(threshold=0.99)
    case = Case.bind(classifier, examples)
    assert not classifier.chosen(case.output.logits).any()
    assert case.targets.tolist() == case.output.logits.argmax(-1).tolist()
