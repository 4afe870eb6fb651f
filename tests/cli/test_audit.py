"""`veridical audit` as a user and a pipeline meet it."""

import json
import re
from html.parser import HTMLParser

import pytest

from veridical import Classifier, explain, load_data
from veridical.audits.store import load_audit
from veridical.core.files import ExplanationWriter

DATA = "planted(train=400, length=8):test[:12]"
QUICK = ("--methods", "occlusion", "--metrics", "comprehensiveness,decision-flip", "--timed", "0")


class Tags(HTMLParser):
    """What a browser would make of a page: its elements, and attributes that run or load something."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.dangers = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.dangers += [
            (tag, name, value)
            for name, value in attrs
            if name.startswith("on") or (name in ("href", "src") and not value.startswith("#"))
        ]


def rows_file(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_card_and_all_its_files(veridical, trained, tmp_path):
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "occlusion does best by comprehensiveness" in " ".join(done.stdout.split())
    assert "model inputs run of" in done.stdout
    kept = {"audit.json", "rows.parquet", "explanations.parquet", "card.html", "card.md", "summary.json"}
    assert kept <= {file.name for file in (tmp_path / "a").iterdir()}
    assert not [file.name for file in (tmp_path / "a").iterdir() if file.suffix in (".tmp", ".lock", ".part")]


def test_json_is_the_summary_and_nothing_else(veridical, trained, tmp_path):
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout, parse_constant=pytest.fail)
    assert {metric["name"] for metric in told["metrics"]} == {"comprehensiveness", "decision-flip"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--metrics", "comprehensivness"), "Did you mean 'comprehensiveness'?"),
        (("--metrics", "erasr"), "Did you mean 'eraser'?"),
        (("--metrics", "eraser(bins=3)"), "eraser is a set of metrics, and takes no options"),
        (("--metrics", "sufficiency(eraser=mask"), "expected ',' or ')' at character 24"),
        (("--metrics", "sufficiency(eraser=msk)"), "Did you mean 'mask'?"),
        (("--metrics", "sufficiency(preset=ferre)"), "Did you mean 'ferret'?"),
        (("--methods", "kernel-shp"), "Did you mean 'kernel-shap'?"),
        (("--methods", "humn"), "Did you mean 'human'?"),
        (("--methods", "human(field=text)"), "human stands for the evidence of the data, and takes no options"),
        (("--target", "maybe"), "the model has no class 'maybe'"),
    ],
)
def test_a_wrong_request_is_a_sentence_and_leaves_no_audit(veridical, trained, tmp_path, arguments, words):
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", "--timed", "0", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (tmp_path / "a" / "audit.json").exists()


def test_texts_that_cannot_be_audited_cost_only_themselves(veridical, trained, tmp_path):
    data = rows_file(
        tmp_path / "mine.jsonl",
        {"id": "good", "text": "a good day in the sun", "label": "positive"},
        {"id": "blank", "text": "  ", "label": "positive"},
        {"id": "word", "text": "word", "label": "negative"},
    )
    done = veridical("audit", trained, "--data", data, "--out", tmp_path / "a", *QUICK)
    assert done.returncode == 7, done.stderr
    assert "there are no words to explain" in " ".join(done.stderr.split())
    assert "undefined for 1 of 2 documents" in " ".join(done.stdout.split())


def test_missing_rationales_are_said(veridical, trained, tmp_path):
    data = rows_file(tmp_path / "mine.jsonl", {"text": "a good day", "label": "positive"})
    arguments = ("--methods", "occlusion", "--metrics", "decision-flip,rationale-auc", "--timed", "0")
    done = veridical("audit", trained, "--data", data, "--out", tmp_path / "a", *arguments)
    assert done.returncode == 0, done.stderr
    assert "rationale-auc: it needs human rationales" in " ".join(done.stdout.split())


HOSTILE = [
    {"id": "<script>alert(1)</script>", "text": "good <img src=x onerror=alert(1)> day", "label": "positive"},
    {"id": "日本 | **ü**", "text": "bad </script><script>alert(2)</script> day", "label": "negative"},
    {"id": "[x](javascript:alert(3))", "text": "\u202egood <a href='javascript:alert(4)'> day", "label": "positive"},
]


def test_hostile_texts_and_ids_stay_text(veridical, trained, tmp_path):
    data = rows_file(tmp_path / "<svg onload=x>.jsonl", *HOSTILE)
    done = veridical("audit", trained, "--data", data.name, "--out", "a", *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a" / "card.html").read_text(encoding="utf-8")
    found = Tags(page)
    assert not found.elements & {"script", "img", "iframe", "object", "link"}
    assert found.dangers == []
    assert "&lt;svg onload=x&gt;" in page
    assert "<script" not in (tmp_path / "a" / "card.md").read_text(encoding="utf-8")
    assert [document.id for document in load_audit(tmp_path / "a").documents] == [row["id"] for row in HOSTILE]


def test_explanations_of_another_model_are_refused_by_hash(veridical, trained, tmp_path):
    made = explain(Classifier.load(trained), load_data(DATA), "occlusion")
    spec = {**made[0].spec, "model": {**made[0].spec["model"], "fingerprint": "0123456789abcdef"}}
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(type(each)(**{**vars(each), "spec": spec}) for each in made)
    arguments = ("--methods", "", "--explanations", tmp_path / "why.jsonl", "--metrics", "decision-flip")
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *arguments)
    assert done.returncode == 3
    assert "another model: its hash is 0123456789abcdef, not" in done.stderr


def test_a_score_that_is_not_a_number_is_named(veridical, trained, tmp_path):
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(Classifier.load(trained), load_data(DATA), "occlusion"))
    text = (tmp_path / "why.jsonl").read_text()
    start = text.index('"score":') + len('"score":')
    end = min(text.index(mark, start) for mark in ",}")
    (tmp_path / "why.jsonl").write_text(f"{text[:start]}NaN{text[end:]}")
    arguments = ("--methods", "", "--explanations", tmp_path / "why.jsonl", "--metrics", "decision-flip")
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *arguments)
    assert done.returncode == 5
    assert "is nan" in done.stderr


def test_a_place_that_cannot_be_written(veridical, trained, tmp_path):
    (tmp_path / "file").write_text("")
    done = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "file" / "a", *QUICK)
    assert done.returncode == 5
    assert "choose another place" in " ".join(done.stderr.split())


def test_damaged_files_are_made_anew_without_measuring(veridical, trained, tmp_path):
    first = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *QUICK)
    numbers = (tmp_path / "a" / "rows.parquet").read_bytes()
    (tmp_path / "a" / "rows.parquet").write_bytes(numbers[:-100])
    (tmp_path / "a" / "audit.json").write_text('{"format": "ver')
    again = veridical("audit", trained, "--data", DATA, "--out", tmp_path / "a", *QUICK)
    counts = [re.search(r"[\d,]+ model inputs run of [\d,]+", each.stdout) for each in (first, again)]
    assert counts[0]
    assert counts[1]
    assert counts[1].group() == counts[0].group()  # the same count in all: nothing was run again
    assert again.returncode == 0
    assert (tmp_path / "a" / "rows.parquet").read_bytes() == numbers


def test_ids_that_no_file_can_hold_as_they_are(veridical, trained, tmp_path):
    ids = ["half \ud800 a pair", "b"]
    data = rows_file(tmp_path / "mine.jsonl", *({"id": id, "text": "a good day", "label": "positive"} for id in ids))
    done = veridical("audit", trained, "--data", data, "--out", tmp_path / "a", *QUICK)
    assert done.returncode == 0, done.stderr
    kept = load_audit(tmp_path / "a")
    assert [document.id for document in kept.documents] == ids
    assert {row.document for row in kept.rows} == set(ids)


def test_a_metric_added_later_is_measured_alone(veridical, trained, tmp_path):
    arguments = ("audit", trained, "--data", DATA, "--out", tmp_path / "a", "--methods", "occlusion", "--timed", "0")
    veridical(*arguments, "--metrics", "comprehensiveness", "--json")
    before = load_audit(tmp_path / "a")
    veridical(*arguments, "--metrics", "comprehensiveness,log-odds", "--json")
    after = load_audit(tmp_path / "a")
    more = after.work["forwards"] - before.work["forwards"]
    assert 0 < more <= 12 * (1 + 2 + 5)  # the text itself; words of occlusion, also the other way; five draws of chance
    assert [row for row in after.rows if row.metric == "comprehensiveness"] == list(before.rows)


def test_another_class_in_the_same_folder_has_its_own_numbers(veridical, trained, tmp_path):
    arguments = ("audit", trained, "--data", DATA, *QUICK, "--json")
    veridical(*arguments, "--out", tmp_path / "both")
    veridical(*arguments, "--out", tmp_path / "both", "--target", "positive")
    veridical(*arguments, "--out", tmp_path / "alone", "--target", "positive")
    both, alone = load_audit(tmp_path / "both"), load_audit(tmp_path / "alone")
    assert {document.target for document in both.documents} == {"positive"}
    assert both.rows == alone.rows
