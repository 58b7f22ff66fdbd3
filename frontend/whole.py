"""Access to modules that cannot be imported at the top of a file without a circle of imports.

Compiling is recursive: a call compiles the function that is called, an element of a list may be any
expression, a class has methods.  Imports must not be circular.  A module that needs a function of a
module that imports it writes `whole.name` instead; PLACES says which module has the name, and that
module is imported when the name is first used.  `tests/test_layers.py` checks these uses.
"""

from __future__ import annotations

import importlib
from typing import Any

PLACES: dict[str, str] = {
    # A call compiles what it calls: functions, composite operators, overloads that are written in
    # the language, nested functions.
    "bodies.emit": "emit_function join_types",
    "bodies.signatures": "function_schema infer_schema",
    "bodies.emitter": "Emitter",
    "python.script": "declare script_function variadic_function",
    # Statements contain statements and expressions; expressions contain expressions and bind names.
    "bodies.statements": "emit_statements leave_function",
    "bodies.assignment": "assign combine",
    "bodies.control_flow": "choose_value keep_named merge",
    "bodies.expressions": "binary compare",
    "bodies.indexing": "item_method",
    # A name may stand for any object of Python.
    "names.namespaces": "TORCH",
    "names.python_builtins": "builtin",
    "names.special_forms": "HASATTR ISINSTANCE has_attribute instance_types",
    "python.resolver": "PythonResolver class_type code_of functional meaning_of",
    "python.declared_overloads": "overloaded",
    # The type of a class depends on its members, which have types.
    "python.classes": "compiled_type define_from_syntax type_of_class",
    "python.inheritance": "class_method super_of_class",
    "modules.module_values": "super_value",
}
"""Module -> the names that modules which it imports use of it."""

HOME = {name: module for module, names in PLACES.items() for name in names.split()}


class Compilation:
    """An object whose attributes are the functions and classes in PLACES."""

    def __getattr__(self, name: str) -> Any:
        if name not in HOME:
            raise AttributeError(f"{name!r} is not asked of the whole: see PLACES")
        module = importlib.import_module(f"{__package__}.{HOME[name]}")
        self.__dict__[name] = getattr(module, name)
        return self.__dict__[name]


whole = Compilation()
