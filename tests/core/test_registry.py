"""Tables of components: names, registered classes, entry points of real packages, and folders with weights."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import textwrap
import warnings
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from veridical.core.component import Component, Count, Presets, Share, option, required
from veridical.core.errors import ModelError, StorageError, UsageError
from veridical.core.registry import Registry

GROUP = "veridical.tests.things"


class Skill(StrEnum):
    SIGHT = "sight"
    TOUCH = "touch"


@dataclass(frozen=True)
class Plain(Component):
    """A thing that has learned nothing."""

    size: Count = option(3, "How large it is.")
    ratios: tuple[Share, ...] = option((0.5,), "Which parts it takes.")
    mode: Literal["slow", "fast"] = option("slow", "How it works.")
    label: str | None = option(None, "What it is called.")
    needs: ClassVar[frozenset[Skill]] = frozenset({Skill.SIGHT})
    presets: ClassVar[Presets] = {"paper": {"size": 10, "mode": "fast"}}

    def run(self) -> str:
        return "plain"


@dataclass(frozen=True)
class Learned(Component):
    """A thing with weights."""

    size: Count = option(2, "How many numbers it learns.")
    needs: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.learn(np.zeros(self.size))

    def run(self) -> str:
        return "learned"

    def learn(self, weights: np.ndarray) -> None:
        object.__setattr__(self, "values", weights)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.values.tobytes()).hexdigest()[:16]

    def save_weights(self, folder: Path) -> None:
        save_file({"values": self.values}, folder / "weights.safetensors")

    def load_weights(self, folder: Path, told: dict[str, Any]) -> None:
        self.learn(load_file(folder / "weights.safetensors")["values"])


def table(group: str = GROUP, **more: type) -> Registry[Any]:
    classes = {"plain": Plain, "learned": Learned, **more}
    return Registry("thing", group, classes, required=("needs", "run"), abilities=Skill)


@pytest.fixture
def things() -> Registry[Any]:
    return table()


# Names and options.


def test_a_name_with_options(things):
    made = things.create("plain(size=5, ratios=[0.1, 1], label='a, b')")
    assert made == Plain(5, (0.1, 1.0), label="a, b")
    assert things.create("plain") == Plain()
    assert things.create(made) is made
    assert things["plain"] is Plain
    assert (list(things), len(things), "plain" in things, "nothing" in things) == (["plain", "learned"], 2, True, False)


def test_an_unknown_name_is_told_with_the_nearest(things):
    with pytest.raises(UsageError, match=r"unknown thing 'plan'. Did you mean 'plain'\? There are: learned, plain\."):
        things.create("plan(size=3)")


def test_a_preset_is_a_set_of_options(things):
    assert things.create("plain(preset=paper)") == Plain(10, mode="fast")
    assert things.create("plain(preset=paper, size=4)") == Plain(4, mode="fast")
    with pytest.raises(UsageError, match=r"unknown preset of plain 'papre'. Did you mean 'paper'\?"):
        things.create("plain(preset=papre)")
    with pytest.raises(UsageError, match=r"unknown preset of plain \('paper',\)"):
        things.create("plain(preset=[paper])")
    with pytest.raises(UsageError, match=r"unknown preset of learned 'paper'. There are: none"):
        things.create("learned(preset=paper)")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plain(size=0)", r"plain\(size=0\) is beyond its limits. size is 1 or more"),
        ("plain(size=many)", r"plain\(size=many\) has the wrong type"),
        ("plain(ratios=[0.5, a])", r"plain\(ratios=\(0.5, 'a'\)\) has the wrong type. each of ratios is a number"),
        ("plain(ratios=[0.5, 2])", "is beyond its limits. each of ratios is more than 0 and at most 1"),
        ("plain(mode=medium)", "is not possible. mode is one of: slow, fast"),
        ("plain(sise=3)", r"unknown option of plain 'sise'. Did you mean 'size'\?"),
        ("plain(label=3)", "has the wrong type. label is a text or none"),
    ],
)
def test_wrong_options_are_told_with_their_component(things, text, problem):
    with pytest.raises(UsageError, match=problem):
        things.create(text)


def test_an_object_is_checked_as_well(things):
    @dataclass
    class Loose:
        size: Count = 3
        needs: ClassVar[frozenset[str]] = frozenset()
        run: ClassVar[None] = None

    assert things.create(Loose(5)).size == 5
    with pytest.raises(UsageError, match=r"Loose\(size=0\) is beyond its limits"):
        things.create(Loose(0))


@pytest.mark.parametrize(("given", "shown"), [(3, "int 3"), (None, "NoneType None"), (["plain"], "list")])
def test_what_is_no_component_is_refused(things, given, shown):
    with pytest.raises(UsageError, match=rf"{shown}.* cannot be used as thing. Give a name, a folder, or an object"):
        things.create(given)


def test_a_class_is_no_object(things):
    with pytest.raises(
        UsageError, match=r"the class Plain cannot be used as thing. Give an object of it, as Plain\(\)"
    ):
        things.create(Plain)


def test_an_option_that_has_no_default_must_be_given():
    @dataclass(frozen=True)
    class Needy(Component):
        start: int = required("Where it starts.")
        needs: ClassVar[frozenset[str]] = frozenset()
        run: ClassVar[None] = None

    registry = table(needy=Needy)
    with pytest.raises(UsageError, match="needy needs the option 'start'"):
        registry.create("needy")
    assert registry.written(registry.create("needy(start=3)")) == "needy(start=3)"


PlainName = Annotated[str, table().name_option("a")]


@dataclass(frozen=True)
class Holder(Plain):
    inner: PlainName = option("plain", "What it holds.")


def test_an_option_can_name_another_component():
    registry = table(holder=Holder)
    assert registry.create("holder(inner='plain(size=7)')").inner == "plain(size=7)"
    with pytest.raises(UsageError, match=r"unknown thing 'plane'. Did you mean 'plain'\?"):
        registry.create("holder(inner=plane)")
    with pytest.raises(UsageError, match=r"plain\(size=0\) is beyond its limits"):
        Holder(inner="plain(size=0)")
    inner = registry.schema("holder")["properties"]["inner"]
    assert inner["examples"] == ["plain", "learned"]
    assert inner["type"] == "string"


# Specs, strings and schemas.


@pytest.mark.parametrize(
    "made",
    [Plain(), Plain(5), Plain(ratios=(0.1, 0.2)), Plain(label="with, comma"), Plain(label="it's"), Plain(mode="fast")],
)
def test_there_and_back(things, made):
    assert things.create(things.written(made)) == made
    assert things.from_spec(things.spec(made)) == made
    assert things.from_spec(json.loads(json.dumps(things.spec(made)))) == made


def test_a_spec_has_every_option_and_a_string_only_what_differs(things):
    assert things.spec(Plain(5)) == {"name": "plain", "size": 5, "ratios": (0.5,), "mode": "slow", "label": None}
    assert things.written(Plain(5)) == "plain(size=5)"
    assert things.written(Plain()) == "plain"


def test_a_thing_without_a_name_is_called_by_its_class(things):
    @dataclass(frozen=True)
    class Own(Plain): ...

    assert things.name_of(Own()) == "Own"
    assert things.written(Own(5)) == "Own(size=5)"


def test_a_spec_of_what_has_weights_has_their_fingerprint(things):
    made = Learned()
    before = things.spec(made)
    made.learn(np.ones(2))
    assert before["weights"] != things.spec(made)["weights"] == made.fingerprint
    with pytest.raises(UsageError, match="learned has weights, which a spec does not hold. Name its folder"):
        things.from_spec(before)


@pytest.mark.parametrize("spec", [{}, {"name": 3}, {"size": 3}])
def test_a_spec_without_a_name_is_refused(things, spec):
    with pytest.raises(UsageError, match="describes no thing: it has no name"):
        things.from_spec(spec)


def test_the_schema_has_the_name_and_every_option(things):
    found = things.schema("plain")
    assert found["title"] == "plain"
    assert found["properties"].keys() == {"size", "ratios", "mode", "label"}
    assert found["properties"]["size"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How large it is.",
        "default": 3,
    }
    assert json.loads(json.dumps(found)) == found
    with pytest.raises(UsageError, match="unknown thing 'other'"):
        things.schema("other")


# Registering.


def notebook_cell(things: Registry[Any], name: str, default: int) -> type:
    """What a notebook does when a cell is run: the same class is made anew."""

    @things.register(name)
    @dataclass(frozen=True)
    class Mine(Plain):
        size: Count = option(default, "How large it is.")

    return Mine


def test_a_registered_class_has_a_name(things):
    cls = notebook_cell(things, "mine", 7)
    assert things.create("mine") == cls(7)
    assert things.written(cls(8)) == "mine(size=8)"
    assert "mine" not in table()  # another table


def test_a_cell_can_be_run_again(things):
    notebook_cell(things, "mine", 7)
    again = notebook_cell(things, "mine", 9)
    assert things.create("mine") == again(9)


def test_a_name_of_another_class_is_refused(things):
    notebook_cell(things, "mine", 7)
    with pytest.raises(UsageError, match=r"the thing 'mine' exists already: .*Mine. Choose another name"):
        things.register("mine")(Learned)
    with pytest.raises(UsageError, match="the thing 'plain' exists already: Plain"):
        notebook_cell(things, "plain", 7)
    assert things.create("plain") == Plain()


@pytest.mark.parametrize("name", ["", "My Thing", "a(b)", "a/b", "-a", "Lime", Plain, 3])
def test_a_name_must_be_writable(things, name):
    with pytest.raises(UsageError, match="cannot name a component. Give a text of small letters, digits"):
        things.register(name)(Plain)


def test_a_class_must_be_a_dataclass_itself(things):
    class Bare: ...

    class Child(Plain):
        more: int = 3  # forgotten by the dataclass above it

    for cls in (Bare, Child, lambda: None):
        with pytest.raises(UsageError, match=r"'mine' is no dataclass.*Put @dataclass\(frozen=True\) directly above"):
            things.register("mine")(cls)


def test_a_class_must_have_what_its_kind_needs(things):
    @dataclass(frozen=True)
    class Empty:
        size: int = 3

    with pytest.raises(UsageError, match=r"Empty cannot be used as thing: it has no `needs`.*missing: needs, run\."):
        things.register("empty")(Empty)
    with pytest.raises(UsageError, match="Empty cannot be used as thing: it has no `needs`"):
        things.create(Empty())


@pytest.mark.parametrize(
    ("needs", "problem"),
    [
        ({"sihgt"}, r"unknown ability, which Needs needs: 'sihgt'. Did you mean 'sight'\? There are: sight, touch"),
        ("tuoch", r"unknown ability, which Needs needs: 'tuoch'. Did you mean 'touch'\?"),
        (None, "its `needs` are None. `needs` is a frozenset of: sight, touch"),
    ],
)
def test_a_typo_in_needs_is_found(things, needs, problem):
    @dataclass(frozen=True)
    class Needs:
        run: ClassVar[None] = None

    Needs.needs = needs
    with pytest.raises(UsageError, match=problem):
        things.register("mine")(Needs)
    with pytest.raises(UsageError, match=problem):
        things.create(Needs())


def test_needs_may_depend_on_the_options(things):
    @things.register("mine")
    @dataclass(frozen=True)
    class Mine:
        need: str = "sight"
        run: ClassVar[None] = None

        @property
        def needs(self) -> frozenset[str]:
            return frozenset({self.need})

    assert things.create(Mine())
    with pytest.raises(UsageError, match="unknown ability, which Mine needs: 'smell'"):
        things.create(Mine("smell"))


def test_options_must_be_of_types_that_can_be_written(things):
    @dataclass(frozen=True)
    class Odd(Plain):
        table: dict[str, int] = option(None, "No.")

    @dataclass(frozen=True)
    class Taken(Plain):
        weights: int = option(1, "No.")

    with pytest.raises(UsageError, match="the option 'table' of Odd has the type dict.*cannot be checked"):
        things.register("odd")(Odd)
    with pytest.raises(UsageError, match="Taken has an option 'weights', which means something else. Rename it"):
        things.register("taken")(Taken)


# Plug-ins: real packages, written to a folder and put on the path.

_MODULE = """
    from dataclasses import dataclass
    from typing import ClassVar
    from veridical.core.component import Component, Count, option

    @dataclass(frozen=True)
    class {name}(Component):
        '''A plug-in.'''

        size: Count = option(1, "How large it is.")
        needs: ClassVar[frozenset[str]] = frozenset()

        def run(self):
            return "{name}"
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with one module and some entry points."""

    def install(name: str, code: str, points: dict[str, str], group: str = GROUP) -> None:
        folder = tmp_path / f"{name}-folder"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(textwrap.dedent(code))
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{key} = {value}\n" for key, value in points.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, name, raising=False)

    return install


def test_an_installed_package_adds_names(package):
    package("plug_one", _MODULE.format(name="One"), {"one": "plug_one:One"})
    things = table()
    assert list(things) == ["plain", "learned", "one"]
    made = things.create("one(size=4)")
    assert (made.size, made.run()) == (4, "One")
    assert things.written(made) == "one(size=4)"
    with pytest.raises(UsageError, match=r"one\(size=0\) is beyond its limits"):
        things.create("one(size=0)")
    with pytest.raises(UsageError, match="the thing 'one' exists already: One"):
        things.register("one")(Plain)


def test_a_plug_in_that_cannot_be_imported_is_left_out_with_a_warning(package):
    package("plug_good", _MODULE.format(name="Good"), {"good": "plug_good:Good"})
    package("plug_broken", "raise RuntimeError('no such luck')", {"broken": "plug_broken:Broken"})
    things = table()
    with pytest.warns(UserWarning, match=r"plug-in plug_broken:Broken \(thing 'broken'\) is left out: no such luck"):
        assert list(things) == ["plain", "learned", "good"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once, not at every question
        assert things.create("good").run() == "Good"
        with pytest.raises(UsageError, match="unknown thing 'broken'"):
            things.create("broken")


@pytest.mark.parametrize(
    ("code", "value", "reason"),
    [
        ("", "plug_bad:Missing", "has no attribute 'Missing'"),
        ("import nothing_of_that_name", "plug_bad:X", "No module named 'nothing_of_that_name'"),
        ("class X: ...", "plug_bad:X", "is no dataclass"),
        (_MODULE.format(name="X").replace("frozenset()", "{'sihgt'}"), "plug_bad:X", "Did you mean 'sight'"),
        (_MODULE.format(name="X").replace("def run", "def walk"), "plug_bad:X", "it has no `run`"),
    ],
)
def test_a_plug_in_that_is_no_component_is_left_out_with_the_reason(package, code, value, reason):
    package("plug_bad", code, {"bad": value})
    with pytest.warns(UserWarning, match=rf"\(thing 'bad'\) is left out: .*{reason}"):
        assert "bad" not in table()


def test_a_plug_in_with_a_built_in_name_is_refused(package):
    package("plug_clash", _MODULE.format(name="Clash"), {"plain": "plug_clash:Clash"})
    things = table()
    for _ in range(2):  # said every time, as nothing works until it is solved
        with pytest.raises(
            UsageError,
            match=r"plug-in plug_clash:Clash names its thing 'plain', and .*Plain has that name.*uninstall plug_clash",
        ):
            things.create("plain")


def test_two_plug_ins_with_one_name_are_refused(package):
    package("plug_first", _MODULE.format(name="First"), {"both": "plug_first:First"})
    package("plug_second", _MODULE.format(name="Second"), {"both": "plug_second:Second"})
    with pytest.raises(UsageError, match="names its thing 'both', and plug_.* has that name already"):
        table().create("plain")


def test_a_plug_in_may_ask_the_table_while_it_is_imported(package, monkeypatch):
    things = table()
    code = _MODULE.format(name="Curious") + "\n    import plug_host\n    SEEN = list(plug_host.things)"
    host = type(sys)("plug_host")
    host.things = things
    monkeypatch.setitem(sys.modules, "plug_host", host)
    package("plug_curious", code, {"curious": "plug_curious:Curious"})
    assert "curious" in things
    assert sys.modules["plug_curious"].SEEN == ["plain", "learned"]


# Folders.


@pytest.fixture
def saved(things, tmp_path):
    made = Learned(3)
    made.learn(np.array([1.0, 2.0, 3.0]))
    things.save(made, tmp_path / "saved", made_for="some model")
    return tmp_path / "saved"


def rewrite(folder: Path, **changes: Any) -> None:
    file = folder / "component.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_folder_holds_options_and_weights(things, saved):
    for given in (saved, str(saved), f"'{saved}'"):
        made = things.create(given)
        assert made == Learned(3)
        assert made.values.tolist() == [1.0, 2.0, 3.0]
    assert json.loads((saved / "component.json").read_text()) == {
        "format": "veridical-component",
        "version": 1,
        "kind": "thing",
        "name": "learned",
        "options": {"size": 3},
        "weights": made.fingerprint,
        "made_for": "some model",
    }


def test_what_has_no_weights_has_a_folder_too(things, tmp_path):
    things.save(Plain(5, (0.1, 0.2), label="x"), tmp_path / "plain")
    assert sorted(path.name for path in (tmp_path / "plain").iterdir()) == ["component.json"]
    assert things.create(tmp_path / "plain") == Plain(5, (0.1, 0.2), label="x")


@pytest.mark.parametrize("name", ["mask", "my mask", "runs/it's (2)", "a+b, c", "plain"])
def test_a_folder_is_written_so_that_it_is_found_again(things, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    made = Learned(1)
    made.learn(np.array([7.0]))
    things.save(made, name)
    loaded = things.load(name)
    assert loaded.folder == Path(name)
    if name == "plain":  # a name comes before a folder of that name, which has to be asked for as a path
        assert things.create(name) == Plain()
        assert things.create("./plain").values.tolist() == [7.0]
        return
    assert things.create(name).values.tolist() == [7.0]
    assert things.create(things.written(loaded)).values.tolist() == [7.0]
    assert things.create(f'"{name}"').values.tolist() == [7.0]


def test_a_folder_below_the_home_folder(things, saved, monkeypatch):
    monkeypatch.setenv("HOME", str(saved.parent))
    assert things.create("~/saved").values.tolist() == [1.0, 2.0, 3.0]


def test_a_folder_takes_no_options(things, saved):
    with pytest.raises(UsageError, match=rf"the thing in {saved} has its option 'size' already. Give none"):
        things.create(f"{saved}(size=3)")


def test_a_folder_that_is_no_component(things, tmp_path):
    for given in (tmp_path, str(tmp_path), str(tmp_path / "missing"), "./missing"):
        with pytest.raises(UsageError, match=r"holds no thing: there is no component.json.*one of: learned, plain"):
            things.create(given)


def test_a_folder_of_another_kind(saved):
    others: Registry[Any] = Registry("other", GROUP, {"learned": Learned})
    with pytest.raises(UsageError, match=r"saved holds the thing 'learned', and no other"):
        others.create(saved)


def test_a_folder_of_a_newer_version(things, saved):
    rewrite(saved, version=2, options=None)
    with pytest.raises(StorageError, match=r"written by a newer Veridical \(component version 2, this reads 1\)"):
        things.create(saved)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"format": "other"}', '{"format": "veridical-component", "version": "1"}', "\x00"],
)
def test_a_damaged_file(things, saved, text):
    (saved / "component.json").write_text(text)
    with pytest.raises(StorageError, match=r"component.json (is damaged|cannot be read).*Train or copy it again"):
        things.create(saved)


@pytest.mark.parametrize("changes", [{"name": 3}, {"options": []}, {"kind": None}])
def test_a_file_of_another_form(things, saved, changes):
    rewrite(saved, **changes)
    with pytest.raises(StorageError, match="is damaged: it describes no component"):
        things.create(saved)


def test_a_file_that_is_no_text(things, saved):
    (saved / "component.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="cannot be read"):
        things.create(saved)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "lerned"}, r"component.json: unknown thing 'lerned'. Did you mean 'learned'\?"),
        ({"name": "../saved"}, r"component.json: unknown thing '../saved'"),
        ({"options": {"size": 0}}, r"component.json: learned\(size=0\) is beyond its limits"),
        ({"options": {"sise": 3}}, r"component.json: unknown option of learned 'sise'. Did you mean 'size'\?"),
    ],
)
def test_a_file_with_wrong_names_and_options(things, saved, changes, problem):
    rewrite(saved, **changes)
    with pytest.raises(ModelError, match=problem):
        things.create(saved)


def test_weights_that_are_missing(things, saved):
    (saved / "weights.safetensors").unlink()
    with pytest.raises(ModelError, match=rf"the weights in {saved} cannot be read: .*No such file"):
        things.create(saved)
    told = json.loads((saved / "component.json").read_text())
    del told["weights"]
    (saved / "component.json").write_text(json.dumps(told))
    with pytest.raises(ModelError, match=rf"the thing 'learned' in {saved} has no weights. Train or copy it again"):
        things.create(saved)


def test_weights_that_are_not_wanted(things, saved):
    rewrite(saved, name="plain", options={})
    with pytest.raises(ModelError, match=rf"the thing 'plain' in {saved} has weights, and needs none"):
        things.create(saved)


def test_weights_of_something_else(things, saved):
    save_file({"values": np.array([9.0])}, saved / "weights.safetensors")
    with pytest.raises(ModelError, match=r"have the fingerprint \w+, and component.json says \w+.*do not belong"):
        things.create(saved)
    save_file({"others": np.array([9.0])}, saved / "weights.safetensors")
    with pytest.raises(ModelError, match="cannot be read: KeyError: 'values'"):
        things.create(saved)
    (saved / "weights.safetensors").write_bytes(b"no safetensors")
    with pytest.raises(ModelError, match="cannot be read: SafetensorError"):
        things.create(saved)


def test_a_thing_without_a_name_cannot_be_saved(things, tmp_path):
    @dataclass(frozen=True)
    class Own(Plain): ...

    with pytest.raises(UsageError, match=r"Own has no name as thing.*Put a decorator of veridical.register"):
        things.save(Own(), tmp_path / "own")
    assert not (tmp_path / "own").exists()


def test_a_folder_that_cannot_be_written(things, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot write .*file.*: (File exists|Not a directory)"):
        things.save(Plain(), tmp_path / "file")


@pytest.mark.skipif(os.name == "nt", reason="names of files follow other rules there")
@pytest.mark.parametrize("text", ["a" * 5000, "\x00", "\ud800", "a/" * 3000])
def test_texts_that_no_file_can_have_are_unknown_names(things, text):
    with pytest.raises(UsageError, match="unknown thing|holds no thing"):
        things.create(text)
