"""Agreement of methods, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veridical.report.audit import Audit
from veridical.report.audit.agreement import agreements

CLASSES = {"lime": [0, 1, 1, math.nan], "lrp": [0, 0, 1, 1], "none": [math.nan] * 4}


def test_the_share_of_documents_with_the_same_class(make_audit: Callable[..., Audit]) -> None:
    audit = make_audit({"agree": CLASSES, "auc": CLASSES})
    rows = tuple(replace(row, details={"class": row.value} if row.metric == "agree" else {}) for row in audit.rows)
    (found,) = agreements(replace(audit, rows=rows))
    assert (found.name, found.methods) == ("agree", ("lime", "lrp"))
    assert np.array(found.values) == pytest.approx(np.array([[1, 2 / 3], [2 / 3, 1]]))
