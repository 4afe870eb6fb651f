"""Runs in ferret's own environment: reads orders as lines of JSON, answers with seconds and the model's inputs.

Nothing of Veridical is imported here.
"""

import json
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")
answers = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr  # what libraries print must not come between the answers

import numpy as np  # noqa: E402
from ferret import IntegratedGradientExplainer, LIMEExplainer, SHAPExplainer  # noqa: E402
from ferret.evaluators.faithfulness_measures import (  # noqa: E402
    AOPC_Comprehensiveness_Evaluation,
    AOPC_Sufficiency_Evaluation,
)
from ferret.explainers.explanation import Explanation  # noqa: E402
from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: E402

EXPLAINERS = {"lime": LIMEExplainer, "shap": SHAPExplainer, "integrated": IntegratedGradientExplainer}
EVALUATORS = (AOPC_Comprehensiveness_Evaluation, AOPC_Sufficiency_Evaluation)


def settings(order):
    """What ferret's methods are called with so that they ask the model as often as the others."""
    if order["method"] == "lime":
        batch = {"batch_size": order["batch"]} if "batch" in order else {}
        return {"num_samples": order["samples"], **batch}
    if order["method"] == "shap":
        return {"max_evals": order["samples"]}
    return {"n_steps": order["steps"]}


def serve(folder):
    """Answer orders until there are no more."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    model.register_forward_pre_hook(count(rows), with_kwargs=True)
    for line in sys.stdin:
        order = json.loads(line)
        rows.clear()
        try:
            answer = evaluate(order, model, tokenizer) if "evaluate" in order else run(order, model, tokenizer)
            answer |= {"inputs": sum(rows), "forwards": len(rows)}
        except Exception as error:  # whatever it is, the other side should hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def run(order, model, tokenizer):
    """Explain every document, and say how long it took."""
    explainer = EXPLAINERS[order["method"]](model, tokenizer)
    begin = time.perf_counter()
    for document in order["documents"]:
        explainer(document["text"], document["target"], call_args=settings(order))
    return {"seconds": time.perf_counter() - begin}


def evaluate(order, model, tokenizer):
    """Judge explanations, and say how long it took."""
    audited_metrics = [audited(model, tokenizer) for audited in EVALUATORS]
    given = []
    for each in order["evaluate"]:
        tokens = tokenizer.convert_ids_to_tokens(tokenizer(each["text"], truncation=True)["input_ids"])
        given.append(Explanation(each["text"], tokens, np.array(each["scores"]), "given", each["target"]))
    begin = time.perf_counter()
    scores = [
        [float(audited.compute_evaluation(each, each.target).score) for audited in audited_metrics] for each in given
    ]
    return {"seconds": time.perf_counter() - begin, "scores": scores}


def count(rows):
    """A hook that notes how many inputs each forward pass has."""

    def note(_module, args, named):
        given = [named.get("input_ids"), named.get("inputs_embeds"), *args]
        rows.append(len(next(value for value in given if value is not None)))

    return note


if __name__ == "__main__":
    serve(sys.argv[1])
