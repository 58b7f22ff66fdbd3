"""The operator table: declarations, derived forms, lacking operators, choices of eager calls."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest

import scriptlang
from scriptlang import tensor_members
from scriptlang.errors import MissingOperatorError
from scriptlang.ops import derived, lacking, table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling import functions as F
from scriptlang.ops.shared.form_kernels import kernel_of
from scriptlang.schema import parse_schema, split_name
from scriptlang.tensors import Tensor, from_numpy
from tests.ops import record_order


def tensor(*values, dtype=np.float32):
    return from_numpy(np.array(values, dtype))


def test_every_declared_schema_parses_and_has_a_kernel():
    for op in table.all_operators():
        assert op.schema.qualified_name == op.qualified_name
        assert callable(op.kernel)


def test_a_second_declaration_of_an_overload_is_refused():
    table.load_families()
    with pytest.raises(ValueError, match="aten::relu is declared twice"):
        table.declare("aten::relu(Tensor self) -> Tensor", abs, "primitive")


def test_no_operator_is_both_declared_and_listed():
    declared = {(op.name, op.overload) for op in table.all_operators() if op.kind != "form"}
    lists = [split_name(t) for file in ("derived.txt", "lacking.txt") for t in table.lines_of(file)]
    twice = sorted(declared & set(lists)) + [n for n, k in Counter(lists).items() if k > 1]
    assert not twice, f"{twice} stand in two lists: run `python cpp_loader/tools/generate.py`"


def test_the_lists_are_what_the_command_writes():
    for file, lines in lists_written().items():
        found = (lacking.FOLDER / file).read_text().splitlines()
        assert lines == found, (
            f"{file} is not what the declarations say: run `python cpp_loader/tools/generate.py`"
        )


def test_an_operator_without_its_declaration_is_lacking_again():
    """Neither it nor a form of it stays in the other lists; one of ours is gone."""
    gone = "aten::gone(Tensor self) -> Tensor"
    form = "aten::gone.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
    note = "  # view primitive"
    files = lists_written(
        "kept, add = table.lines_of, {"
        f"'declared.txt': ['{gone}{note}', 'scriptlang::gone() -> (){note}'],"
        f"'derived.txt': ['{form}']}}\n"
        "table.lines_of = lambda file: sorted(kept(file) + add.get(file, []), key=table.name_in)\n"
    )
    assert [line for line in files["lacking.txt"] if "gone" in line] == [gone, form]
    assert not any("gone" in line for line in files["declared.txt"] + files["derived.txt"])


def lists_written(before: str = "") -> dict[str, list[str]]:
    """What the command writes, in a process of its own that runs `before` first."""
    program = (
        "import json; from scriptlang.ops import lacking, table\n"
        f"{before}\nprint(json.dumps(lacking.files()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        cwd=pathlib.Path(__file__).parents[2],
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "c++")), reason="no C++ compiler")
def test_native_kernels_stand_in_the_files_of_their_families():
    """`python cpp_loader/tools/families.py` shows which file has which."""
    done = subprocess.run(
        [sys.executable, "cpp_loader/tools/families.py", "--check"],
        cwd=pathlib.Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_kernel_in_the_file_of_another_family_is_found(monkeypatch):
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parents[2] / "cpp_loader" / "tools"))
    import families

    kernels = [
        ("aten::dropout", "dropout", "dropout"),
        ("aten::linalg_inv", "linalg", "linalg_solve"),
        ("aten::sort", "sorting", "conv"),
    ]
    monkeypatch.setattr(families, "kernels", lambda: kernels)
    monkeypatch.setattr(families, "SHARED", {"dropout": "conv"})
    assert families.astray() == [
        "aten::sort is of the family sorting, but stands in conv.cpp",
        "families.py: conv.cpp holds no kernel of the family dropout",
    ]


def test_a_name_is_known_without_its_kernels():
    program = (
        "import sys; from scriptlang.ops import table; "
        "found = [op.qualified_name for op in table.overloads('aten::sqrt')]; "
        "assert 'aten::sqrt.int' in found and 'aten::sqrt.out' in found; "
        "assert 'scriptlang.ops.families.pointwise' not in sys.modules; "
        "assert table.find('aten::sqrt', 'out').kernel; "
        "assert 'scriptlang.ops.families.pointwise' in sys.modules; "
        "assert 'scriptlang.ops.families.conv' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, cwd=pathlib.Path(__file__).parents[2]
    )


def test_every_listed_form_can_be_derived():
    for name, texts in table.by_name("derived.txt").items():
        have = {op.qualified_name for op in table.overloads(name) if op.kernel}
        assert {".".join(filter(None, split_name(t))) for t in texts} <= have


def test_tensors_come_before_numbers_in_the_order_of_overloads():
    overloads = [op.overload for op in table.overloads("aten::add")]
    assert overloads.index("Tensor") < overloads.index("int")
    assert table.overloads("aten::no_such_operator") == []


def test_the_order_of_overloads_is_known_of_every_name_that_has_several():
    lines = [line.split() for line in record_order.TARGET.read_text().splitlines()[1:]]
    listed = {name: {o.strip("-") for o in order} for name, *order in lines}
    assert all(len(order) == len(listed[name]) for name, *order in lines)
    assert listed == {name: record_order.tried(name) for name in record_order.names()}


@pytest.mark.oracle
def test_the_order_of_overloads_is_that_of_pytorch():
    """`python -m tests.ops.record_order` writes it."""
    pytest.importorskip("torch")
    assert record_order.TARGET.read_text() == record_order.text()


def test_a_lacking_operator_is_known_but_raises_by_name():
    lacking = {name: parse_schema(texts[0]).arguments for name, texts in table.lacking().items()}
    name = next(
        name
        for name, arguments in lacking.items()
        if not table.declared(name)
        and arguments
        and all(a.type.annotation == "Tensor" for a in arguments)
    )
    operator = table.overloads(name)[0]
    assert operator.kernel is None
    with pytest.raises(MissingOperatorError, match=name):
        dispatch.run(operator, [])


@pytest.mark.parametrize(
    "text, forms",
    [
        (
            "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
            "in place",
        ),
        (
            "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)"
            " -> Tensor(a!)",
            "out",
        ),
        ("aten::t_(Tensor(a!) self) -> Tensor(a!)", "view"),
        ("aten::t_copy(Tensor self) -> Tensor", "copy"),
        ("aten::zero(Tensor self) -> Tensor", "on a copy"),
    ],
)
def test_forms_follow_from_another_form(text, forms):
    assert callable(kernel_of(derived.form_of(text, table.declared)))


def test_a_form_of_nothing_is_not_derived():
    assert derived.form_of("aten::nothing_(Tensor(a!) self) -> Tensor(a!)", table.declared) is None
    assert (
        derived.form_of(
            "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", table.declared
        )
        is None
    )


def test_several_outputs_are_written_into_several_tensors():
    values, indices = tensor(0), tensor(0, dtype=np.int64)
    F.max(from_numpy(np.array([[1.0, 5.0]], np.float32)), 1, max=values, max_values=indices)
    assert values.tolist() == [5] and indices.tolist() == [1]


def test_copies_of_views_share_no_memory():
    x = tensor(1, 2)
    copy = F.unsqueeze_copy(x, 0)
    copy.zero_()
    assert x.tolist() == [1, 2] and copy.shape == (1, 2)


# eager calls


def test_ints_from_the_place_of_a_size_on_are_the_size():
    assert F.zeros(2, 3).shape == (2, 3) and tensor(1, 2, 3, 4).view(2, 2).shape == (2, 2)
    assert F.zeros([2]).shape == (2,) and tensor(1, 2).sum(0).item() == 3


def test_a_number_stands_for_a_list_of_fixed_size():
    assert F.roll(tensor(1, 2, 3), 1).tolist() == [3, 1, 2]


def test_the_method_form_finds_self_wherever_it_is():
    x = tensor(1, -1)
    assert x.where(x > 0, 0).tolist() == [1, 0]


def test_results_with_names_are_named():
    result = tensor(1, 3, 2).max(0)
    assert result.values.item() == 3 and result.indices.item() == 1


def test_a_call_that_fits_nothing_lists_the_candidates():
    with pytest.raises(TypeError) as e:
        F.softmax(tensor(1), "no")
    assert "fits no overload of aten::softmax" in str(e.value)
    assert "argument dim takes int, not str" in str(e.value)


def test_the_overload_depends_on_the_values_not_on_the_first_call():
    """`x.to(1)` after `x.to(tensor)`: choices are kept by kinds of values."""
    x = tensor(1, 2)
    assert x.to(tensor(1, dtype=np.int64)).dtype.name == "int64"
    assert x.to("cpu").dtype.name == "float32" and x.to(dtype=7).dtype.name == "float64"


def test_a_tracer_sees_every_operator(monkeypatch):
    seen = []

    class Tracer:
        def call(self, op, values):
            seen.append(op.qualified_name)
            return op.kernel(*values)

    monkeypatch.setattr(dispatch.calls, "tracer", Tracer())
    monkeypatch.setattr(dispatch.calls, "thread", threading.get_ident())
    (tensor(1) + 1).relu()
    assert seen == ["aten::add.Scalar", "aten::relu"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such"):
        F.no_such
    with pytest.raises(AttributeError, match="no_such"):
        tensor(1).no_such
    assert not hasattr(Tensor, "no_such")


def test_the_document_of_operators_is_current():
    from scriptlang.ops import document

    root = pathlib.Path(__file__).resolve().parent.parent.parent
    made = document.document((root / document.NATIVE).read_text())
    assert (root / document.TARGET).read_text() == made, "run python -m scriptlang.ops.document"


def test_the_types_of_operators_are_current():
    from scriptlang.ops import stubs

    root = pathlib.Path(__file__).resolve().parent.parent.parent
    for path, text in stubs.stubs().items():
        assert (root / path).read_text() == text, "run python -m scriptlang.ops.stubs"


def test_the_types_of_operators_name_what_there_is():
    """A function or method that the stubs have, the package has; and the other way round for
    methods, so that nothing that runs is an error for a type checker."""
    from scriptlang.ops import stubs

    def names(path, indent):
        found = re.findall(rf"^{indent}def (\w+)", stubs.stubs()[path], re.MULTILINE)
        return set(found)

    assert not [n for n in names(stubs.FUNCTIONS, "") if not callable(getattr(scriptlang, n))]
    methods = names(stubs.METHODS, "    ")
    assert methods == set(tensor_members.METHODS)
    assert not [n for n in methods if not callable(getattr(scriptlang.Tensor, n))]
