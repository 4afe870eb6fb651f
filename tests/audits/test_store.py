"""Audits on disk: whole or not there, and the same when they are read again."""

import json
import math
from dataclasses import replace

import pytest

from veridical.audits import Document
from veridical.audits.statistics.comparison import compare
from veridical.audits.statistics.findings import Agreement
from veridical.audits.store import AUDIT_FILE, ROWS, load_audit, save_audit
from veridical.core.errors import InputError, StorageError, VeridicalError


@pytest.fixture
def made(make_audit):
    return make_audit(
        {"comp": {"lime": [0.1 + 0.2, 1 / 3], "lrp": [0.5, 0.25]}},
        failures={"x\ud800": {"lime": "there are no words", "lrp": "it has no label"}},
        likeness=Agreement("top words", "Shared words.", ("lime", "lrp"), ((1.0, 0.5), (0.5, 1.0))),
        skipped={"auc": "there is no evidence"},
        warnings=("lime scores every word 0",),
        work={"queries": 3, "forwards": 2},
        settings={"target": "gold"},
    )


def test_an_audit_comes_back_as_it_was(made, tmp_path):
    save_audit(made, tmp_path)
    assert load_audit(tmp_path) == made
    assert load_audit(tmp_path).summary.verdict == made.summary.verdict
    assert sorted(file.name for file in tmp_path.iterdir()) == [AUDIT_FILE, ROWS]


def test_what_does_not_exist_stays_undefined(made, tmp_path):
    likeness = replace(made.likeness, values=((1.0, math.nan), (math.nan, 1.0)))
    save_audit(replace(made, likeness=likeness), tmp_path)
    assert math.isnan(load_audit(tmp_path).likeness.values[0][1])
    save_audit(replace(made, likeness=None), tmp_path)
    assert load_audit(tmp_path).likeness is None


def test_a_document_may_have_several_labels(made, tmp_path):
    documents = (Document("0", "pos", 3, ("x", "y"), 0.5), Document("1", "neg", 4, (), 0.5))
    save_audit(replace(made, documents=documents), tmp_path)
    assert load_audit(tmp_path).documents == documents


@pytest.mark.parametrize("field", ["likeness", "failures", "documents"])
def test_a_record_without_a_part_is_damaged(made, tmp_path, field):
    save_audit(made, tmp_path)
    told = json.loads((tmp_path / AUDIT_FILE).read_text())
    del told[field]
    (tmp_path / AUDIT_FILE).write_text(json.dumps(told))
    with pytest.raises(StorageError, match=f"audit.json is damaged: '{field}'. Run the audit again"):
        load_audit(tmp_path)


ODD = [None, True, -1, 1.5, 10**400, "x", [], {}, [1], {"a": 1}, [[]]]


def places(told, at=()):
    """The way to each part of a JSON value, and of the first two of each list."""
    parts = told.items() if isinstance(told, dict) else enumerate(told[:2]) if isinstance(told, list) else ()
    for key, part in parts:
        yield (*at, key)
        yield from places(part, (*at, key))


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{odd!r:.10}")
def test_a_record_that_somebody_changed_is_used_or_refused(made, tmp_path, odd):
    """Never a traceback: whatever stands in a place, the audit is damaged, or everything can be computed from it."""
    save_audit(made, tmp_path)
    whole = (tmp_path / AUDIT_FILE).read_text()
    refused = 0
    for way in places(json.loads(whole)):
        told = part = json.loads(whole)
        for key in way[:-1]:
            part = part[key]
        part[way[-1]] = odd
        (tmp_path / AUDIT_FILE).write_text(json.dumps(told))
        try:
            found = load_audit(tmp_path)
            assert found.summary.verdict
            assert found._repr_html_()
            compare(made, found)
        except VeridicalError:
            refused += 1
    assert refused > 10


def test_curves_of_another_length_are_refused(made, tmp_path):
    curves = tuple(replace(row, curve=(0.5, 0.25)) for row in made.rows)
    steps = tuple(replace(metric, steps=(0.1, 0.2, 0.5)) for metric in made.metrics)
    save_audit(replace(made, rows=curves, metrics=steps), tmp_path)
    with pytest.raises(StorageError, match="its metrics have other steps than the curves in rows.parquet"):
        load_audit(tmp_path)


def test_killed_between_the_two_files_there_is_no_audit(made, tmp_path, monkeypatch):
    save_audit(made, tmp_path)
    monkeypatch.setattr("veridical.audits.store.write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save_audit(replace(made, rows=made.rows[:1]), tmp_path)
    with pytest.raises(InputError, match="is not an audit"):
        load_audit(tmp_path)


def test_a_place_that_cannot_be_written(made, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write .*rows.parquet.*choose another place"):
        save_audit(made, tmp_path / "file")


def test_reasons_name_methods_where_they_differ(made):
    judged = replace(made, failures={"0": {"lime": "no"}, "gone": {"lime": "blank", "lrp": "blank"}})
    assert judged.failure_reasons == {"0": "lime: no.", "gone": "blank"}
    assert list(made.failure_reasons.values()) == ["lime: there are no words. lrp: it has no label."]
