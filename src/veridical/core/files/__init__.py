"""Explanation files, the seam between programs: `explain` writes them; audits, pages and studies read them.

Two formats hold the same things, and the file's ending chooses between them. `.parquet` is small, typed and fast to
scan with pandas, DuckDB or Spark; `.jsonl` can be read by eye, by `jq`, and line by line while it grows.

    >>> with ExplanationWriter("why.parquet") as writer:
    ...     writer.write(explanations)
    >>> for explanation in read("why.parquet"): ...
"""

from veridical.core.files.explanation_file import ExplanationWriter, convert, read, read_all
from veridical.core.files.rows import spec_key

__all__ = ["ExplanationWriter", "convert", "read", "read_all", "spec_key"]
