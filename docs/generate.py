"""Fill the generated parts of the documentation from the code, and write the rows that `veridical list` shows.

    python docs/generate.py            write them
    python docs/generate.py --check    change nothing; exit 1 and name the files that are out of date

A page asks for a part with a pair of comments, and what stands between them is replaced:

    <!-- generated: explainers -->
    <!-- /generated -->
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import veridical
from veridical.cli.failures import PARTIAL
from veridical.cli.gate import FAILED
from veridical.cli.main import INTERRUPTED, app
from veridical.core.component import options_of
from veridical.core.errors import VeridicalError
from veridical.core.files.parquet import SCHEMA
from veridical.core.registry import Registry
from veridical.data import DATASETS
from veridical.data.columns import Columns
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.metrics.attack_entities import FINDERS
from veridical.metrics.attack_lists import LISTS
from veridical.metrics.pos_importance import TAGGERS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES
from veridical.run.catalogue import STORED, InventoryRow, option_rows, written_default, written_value
from veridical.run.inventory import TABLES
from veridical.training import Schedule

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
FIGURES = ROOT / "docs" / "explanation" / "figures"
REGISTRIES: dict[str, Registry[Any]] = {
    "explainers": EXPLAINERS,
    "metrics": METRICS,
    "data": DATASETS,
    "erasers": ERASERS,
    "objectives": OBJECTIVES,
    "saliences": SALIENCES,
}
_BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)


def pages() -> list[Path]:
    """Every page that may hold generated parts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The text of a page with its generated parts made anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{PARTS[found['name']]().strip()}\n\n{found[3]}", text)


@contextmanager
def bare_environment() -> Iterator[None]:
    """While inside, data directories of this machine are not seen: the tables are the same everywhere."""
    kept = os.environ.pop("VERIDICAL_DATA", None)
    try:
        yield
    finally:
        if kept is not None:
            os.environ["VERIDICAL_DATA"] = kept


def table(rows: Sequence[dict[str, str]], columns: Sequence[str] | None = None) -> str:
    """Rows as a Markdown table; the first column is set as code."""
    names = list(columns or rows[0])
    lines = [names, ["---"] * len(names)]
    lines += [[f"`{row[names[0]]}`", *(_cell(row[name]) for name in names[1:])] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(name: str, *columns: str) -> str:
    """A table of `veridical list`, without what plug-ins of this machine add."""
    return table(_built_in(name), columns or None)


def options(cls: type) -> str:
    """The options of a registered class, one per row."""
    rows = [
        {
            "option": each["name"],
            "default": f"`{written_default(each)}`" if "default" in each else "required",
            "takes": each["takes"],
            "what it does": each["help"],
        }
        for each in option_rows(cls)
    ]
    return table(rows) if rows else "No options."


def explainers_in_detail() -> str:
    """A section per explainer: what it does, what it needs and costs, its options and presets."""
    return "\n\n".join(_explainer(name, EXPLAINERS[name]) for name in _ours(EXPLAINERS))


def metrics_in_detail() -> str:
    """A section per metric: what it is, what it needs, its direction, its options and presets."""
    rows = {row["name"]: row for row in TABLES["metrics"]()}
    return "\n\n".join(_metric(rows[name], METRICS[name]) for name in _ours(METRICS))


def measured_ratios(part: str, figure: str = "", alt: str = "") -> str:
    """The ratios that a part of `make bench` found, under its figure."""
    found = _results(part)
    rows = [
        {"measure": row["name"], "ratio": _ratio(row["ratio"]), "detail": row["detail"]}
        for row in found.get("rows", [])
    ]
    return _measured(found, figure, alt, [table(rows)] if rows else [])


def measured_growth(figure: str, alt: str) -> str:
    """Seconds per document by their words and by their number, under the figure."""
    found = _results("scaling")
    tables = [_growth(found[size], size) for size in ("words", "documents") if found.get(size)]
    return _measured(found, figure, alt, tables)


def measured_faithfulness(name: str) -> str:
    """What each method reached by each metric on some data, the best by the first metric on top."""
    found = _results(f"faithfulness-{name}")
    if not found:
        return "*Not measured yet: `python benchmarks/faithfulness.py` does it.*"
    first, up = next((metric, told["greater is better"]) for metric, told in found["metrics"].items())
    ordered = sorted(found["rows"], key=lambda row: row["metrics"][first]["mean"], reverse=up)
    rows = [
        {"method": f"`{row['method']}`", "questions": f"{row['queries']:,.0f}"}
        | {_directed(metric, told): _reached(row["metrics"][metric], told) for metric, told in found["metrics"].items()}
        for row in ordered
    ]
    told = f"{found['documents']} documents of `{found['data']}`, {len(found['models'])} models"
    return f"{table(rows)}\n\n{told}. Measured on {found['time']} with veridical {found['versions']['veridical']}."


def _directed(metric: str, told: dict[str, Any]) -> str:
    return f"{metric} ({'higher' if told['greater is better'] else 'lower'} is better)"


def _reached(found: dict[str, float], told: dict[str, Any]) -> str:
    """A mean, with a sign where it is no better than chance (=) or worse (-)."""
    better = found["above chance"] > 0 if told["greater is better"] else found["above chance"] < 0
    sign = "" if found["p"] < 0.05 and better else " (-)" if found["p"] < 0.05 else " (=)"
    return f"{found['mean']:.3f}{sign}"


def data_in_detail() -> str:
    """A section per named data set that has options."""
    chosen = {name: DATASETS[name] for name in _ours(DATASETS) if options_of(DATASETS[name])}
    return "\n\n".join(section for name, cls in chosen.items() for section in _component(name, cls))


def objectives_in_detail() -> str:
    """A section per objective."""
    return "\n\n".join(section for name in _ours(OBJECTIVES) for section in _component(name, OBJECTIVES[name]))


def saliences_in_detail() -> str:
    """A table of saliences, and a section for each that has options."""
    chosen = [name for name in _ours(SALIENCES) if options_of(SALIENCES[name])]
    sections = [section for name in chosen for section in _component(name, SALIENCES[name])]
    return "\n\n".join([listed("saliences", "name", "what it does"), *sections])


def metric_tools() -> str:
    """A section for each thing that the options of a metric can name: finders, lists of names, taggers."""
    names = {"finder": FINDERS, "lists": LISTS, "tagger": TAGGERS}
    return "\n\n".join(
        section
        for option, registry in names.items()
        for name in _ours(registry)
        for section in _component(f"{option}={name}", registry[name])
    )


def schema_example() -> str:
    """The options of one metric as JSON Schema."""
    return f"```json\n{json.dumps(METRICS.schema('decision-flip'), indent=2)}\n```"


def commands() -> str:
    """A section per command: its arguments and options."""
    return "\n\n".join(_command(entry) for entry in app.registered_commands)


def exit_codes() -> str:
    """The exit codes of the command line."""
    codes = {0: "Done.", 1: "Something unexpected: please report it."}
    codes |= {kind.exit_code: _first_line(kind) for kind in VeridicalError.__subclasses__()}
    codes |= {PARTIAL: "Done, but some examples failed; they are named, and all others are written."}
    codes |= {FAILED: "`veridical gate`: the audit does not keep a bar."}
    codes |= {INTERRUPTED: "Interrupted. What was finished is kept; run the same command again to go on."}
    kinds = {kind.exit_code: f"`{kind.__name__}`" for kind in VeridicalError.__subclasses__()}
    rows = [{"code": str(code), "meaning": codes[code], "in Python": kinds.get(code, "-")} for code in sorted(codes)]
    return table(rows)


def file_columns() -> str:
    """The columns of a Parquet explanation file."""
    return table([{"column": column.name, "type": f"`{_arrow(column.type)}`"} for column in SCHEMA])


def python_names() -> str:
    """What `import veridical` offers."""
    parts = []
    for name in veridical.__all__:
        thing = getattr(veridical, name)
        code = f"```text\n{_written(name, thing)}\n```\n\n" if inspect.isfunction(thing) else ""
        parts.append(f"### {name}\n\n{code}{_before_examples(thing)}")
    return "\n\n".join(parts)


PARTS: dict[str, Callable[[], str]] = {
    "explainers": lambda: listed("explainers", "name", "what it does", "needs", "cost"),
    "explainers-in-detail": explainers_in_detail,
    "explainers-by-cost": lambda: listed("explainers", "name", "needs", "cost", "adds up to", "margins"),
    "explainers-by-meaning": lambda: listed("explainers", "name", "a score is", "known weakness"),
    "metrics": lambda: listed("metrics", "name", "what it is", "needs", "direction", "printed", "compares models"),
    "metrics-in-short": lambda: listed("metrics", "name", "a value is", "needs", "direction"),
    "metrics-in-detail": metrics_in_detail,
    "metrics-by-meaning": lambda: listed("metrics", "name", "a value is", "known weakness"),
    "metric-sets": lambda: listed("metric-sets"),
    "bench-accuracy": lambda: measured_ratios(
        "accuracy",
        "accuracy-per-query",
        "The mean error of Shapley values falls with the number of model queries, one line per library and estimator, "
        "on logarithmic scales: at the left for short texts with exact values, at the right for a longer one.",
    ),
    "bench-explainers": lambda: measured_ratios("explainers"),
    "bench-audit": lambda: measured_ratios("audit"),
    "bench-scaling": lambda: measured_growth(
        "scaling",
        "Seconds per document, one line per method, on logarithmic scales: at the left they grow with the words of a "
        "document, at the right they stay level, or fall, with the number of documents.",
    ),
    "bench-margins": lambda: measured_ratios("margins"),
    "bench-faithfulness": lambda: measured_faithfulness("sst2"),
    "bench-plausibility": lambda: measured_faithfulness("movies"),
    "metric-tools": metric_tools,
    "data": lambda: listed("data", "name", "what it is", "task", "splits", "where"),
    "data-in-detail": data_in_detail,
    "columns": lambda: f"{_doc(Columns)}\n\n{options(Columns)}",
    "models": lambda: listed("models"),
    "erasers": lambda: listed("erasers", "name", "what it does"),
    "objectives": lambda: listed("objectives", "name", "what it does"),
    "objectives-in-detail": objectives_in_detail,
    "saliences": saliences_in_detail,
    "schedule": lambda: f"{_doc(Schedule)}\n\n{options(Schedule)}",
    "schema-example": schema_example,
    "commands": commands,
    "exit-codes": exit_codes,
    "file-columns": file_columns,
    "python": python_names,
}


def stored_rows() -> str:
    """What the package knows of its own components without loading them, as JSON."""
    return json.dumps({name: _built_in(name) for name in TABLES if name != "data"}, indent=1) + "\n"


def _built_in(name: str) -> list[InventoryRow]:
    return [row for row in TABLES[name]() if name not in REGISTRIES or _is_ours(REGISTRIES[name], row["name"])]


def _ours(registry: Registry[Any]) -> list[str]:
    return [name for name in registry if _is_ours(registry, name)]


def _is_ours(registry: Registry[Any], name: str) -> bool:
    return name in registry and registry[name].__module__.startswith("veridical.")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")


def _results(part: str) -> dict[str, Any]:
    """What `make bench` wrote of a part; nothing when it was never run."""
    path = RESULTS / f"{part}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _measured(found: dict[str, Any], figure: str, alt: str, tables: Sequence[str]) -> str:
    """A figure if it is there, tables, and what they were measured with."""
    if not found:
        return "*Not measured yet: `make bench` does it.*"
    drawn = [f"![{alt}](figures/{figure}.svg)"] if figure and (FIGURES / f"{figure}.svg").exists() else []
    made_by = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return "\n\n".join([*drawn, *tables, f"Measured on {found['time']} with {made_by}; {_machine(found['machine'])}."])


def _machine(machine: dict[str, Any]) -> str:
    return f"{machine['threads']} threads of a processor of type {machine['processor']}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _growth(points: Sequence[dict[str, Any]], size: str) -> str:
    """A row per method, a column per size."""
    rows: dict[str, dict[str, str]] = {}
    for point in points:
        row = rows.setdefault(point["method"], {"seconds per document": point["method"]})
        row[f"{point[size]:,} {size}"] = f"{point['seconds per document']:.3g}"
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    return table([{column: row.get(column, "-") for column in columns} for row in rows.values()])


def _explainer(name: str, cls: Any) -> str:
    needs = ", ".join(f"`{each}`" for each in sorted(cls.needs)) or "any model"
    facts = {"A score is": cls.meaning, "Adds up to": getattr(cls, "total", ""), "Margins": getattr(cls, "margins", "")}
    told = [f"- {fact}: {text}" for fact, text in {**facts, "Known weakness": cls.weakness}.items() if text]
    told = [f"- Needs: {needs}", f"- Cost: {cls.cost}", *told]
    return "\n\n".join([f"### {name}", _doc(cls), "\n".join(told), options(cls), *_presets(name, cls)])


def _component(name: str, cls: Any) -> list[str]:
    """What a component is, its options and presets, under a heading."""
    return [f"### {name}", _doc(cls), options(cls), *_presets(name, cls)]


def _metric(row: dict[str, str], cls: Any) -> str:
    facts = {"Needs": "needs", "Direction": "direction", "Printed": "printed", "Compares models": "compares models"}
    told = [f"- {fact}: {row[column]}" for fact, column in facts.items()]
    told += [f"- A value is: {cls.meaning}", f"- Known weakness: {cls.weakness}"]
    shared = [_doc(base) for base in cls.__bases__ if options_of(base)]
    parts = [f"### {row['name']}", _doc(cls), *shared, "\n".join(told), options(cls)]
    return "\n\n".join([*parts, *_presets(row["name"], cls)])


def _presets(name: str, cls: Any) -> list[str]:
    told = {
        preset: ", ".join(f"`{key}={written_value(value)}`" for key, value in chosen.items())
        for preset, chosen in getattr(cls, "presets", {}).items()
    }
    lines = [f"- `{name}(preset={preset})`: {chosen or 'the defaults'}" for preset, chosen in told.items()]
    return ["Presets:", "\n".join(lines)] if lines else []


def _command(entry: Any) -> str:
    hints = typing.get_type_hints(entry.callback)
    command = typer.main.get_command_from_info(entry, pretty_exceptions_short=True, rich_markup_mode=None)
    shown = [param for param in command.params if param.name in hints]
    arguments = [param for param in shown if not param.opts[0].startswith("-")]
    rest = [param for param in shown if param.opts[0].startswith("-")]
    usage = " ".join([f"veridical {command.name} [OPTIONS]", *(_place(param) for param in arguments)])
    parts = [f"### veridical {command.name}", inspect.cleandoc(command.help or ""), f"```text\n{usage}\n```"]
    parts += [table([_row(param, param.name.upper(), hints) for param in arguments])] if arguments else []
    parts += [table([_row(param, param.opts[0], hints) for param in rest])]
    return "\n\n".join(parts)


def _place(param: Any) -> str:
    name = param.name.upper() + ("..." if param.nargs < 0 else "")
    return name if param.required else f"[{name}]"


def _row(param: Any, name: str, hints: dict[str, Any]) -> dict[str, str]:
    default = "required" if param.required else _shown(param.default)
    value = "flag" if getattr(param, "is_flag", False) else _values(hints[param.name])
    return {"name": name, "value": value, "default": default, "meaning": param.help or ""}


def _shown(value: Any) -> str:
    if value is None or value is False:
        return "-" if value is None else "no"
    return f"`{getattr(value, 'value', value)}`"


def _values(hint: Any) -> str:
    """What may be given, in words."""
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in typing.get_args(hint))
    if members := getattr(hint, "__members__", None):
        return ", ".join(f"`{member.value}`" for member in members.values())
    words = {int: "whole number", float: "number", str: "text", bool: "yes or no", list: "texts"}
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    if typing.get_origin(hint) in (list, tuple):
        return "texts" if str in kinds else "numbers"
    return " or ".join(words.get(typing.get_origin(kind) or kind) or _values(kind) for kind in kinds)


def _arrow(kind: Any) -> str:
    """The type as Arrow writes it, without the names of the parts of lists and maps, which differ by version."""
    text = re.sub(r"\b(?:item|element): ", "", str(kind))
    return re.sub(r" \('\w+'\)", "", text)


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _first_line(thing: Any) -> str:
    return _doc(thing).partition("\n")[0]


def _before_examples(thing: Any) -> str:
    """The docstring without its `>>>` lines and indented code."""
    kept = [part for part in _doc(thing).split("\n\n") if not part.startswith((">>>", "    "))]
    return "\n\n".join(kept)


def _written(name: str, function: Callable[..., Any]) -> str:
    """A function's signature with one parameter per line."""
    signature = inspect.signature(function)
    lines, by_name_only = [], False
    for param in signature.parameters.values():
        if param.kind is param.KEYWORD_ONLY and not by_name_only:
            lines.append("*")
            by_name_only = True
        # A function's own text has its address in it, which is another every time.
        shown = "..." if inspect.isfunction(param.default) else repr(param.default)
        default = "" if param.default is param.empty else f" = {shown}"
        lines.append(f"{param.name}: {param.annotation}{default}")
    return f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + f") -> {signature.return_annotation}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated parts, or with `--check` say which files lack the latest."""
    parser = argparse.ArgumentParser(description="Fill the generated parts of the documentation from the code.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is out of date")
    check = parser.parse_args(arguments).check
    with bare_environment():
        new = {page: filled(page.read_text(encoding="utf-8")) for page in pages()} | {STORED: stored_rows()}
    stale = [page for page, text in new.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    for page in stale:
        if not check:
            page.write_text(new[page], encoding="utf-8")
        print(f"{'out of date' if check else 'written'}: {page.relative_to(ROOT)}")
    if check and stale:
        print("Run: python docs/generate.py", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
