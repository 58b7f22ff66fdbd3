"""Python source or a traced run -> Graph.

script.py trace.py classes.py composites.py     entries: functions, runs, classes, operators
module_types.py module_reading.py               modules: their types, what is read from Python,
module_values.py module_containers.py           what they are in programs; containers and walks;
module_hooks.py ignored.py overloads.py         hooks; what stays in Python; declared overloads
value_types.py modifiers.py source_lines.py     types of Python values; marks; functions' lines
emit.py emitter.py                              the entry, and the state of one function
statements.py assignment.py control_flow.py     statements; match_statement.py; exits.py removes
                                                early exits
expressions.py literals.py indexing.py calls.py expressions; refinement.py conditions
variadic.py                                     functions with *args and **kwargs
environment.py nested.py forks.py               scopes; inner functions; what fork runs
sugared.py simple.py iteration.py               what an expression may stand for
resolver.py namespaces.py python_builtins.py    what names mean
known_functions.py special_forms.py             functions that mean something else; calls that
                                                read the syntax of their arguments
tracer.py trace_torch.py traced_modules.py      recording a run
traced_number.py traced_symbol.py               its sizes
traced_index.py trace_checks.py foreign.py      indexing; whether it is what the function means;
                                                programs that PyTorch compiled
annotations.py signatures.py                    what annotations mean; parameters and defaults
matching.py conversions.py operators.py         which overload a call means
language_functions.py library_classes.py        overloads and classes written in the language
record_classes.py interfaces.py inheritance.py  dataclasses, interfaces, members of classes
object_sorting.py                               sort of objects by their __lt__
"""

if __name__ == "frontend":
    raise ImportError(
        "import scriptlang.frontend, not frontend: a second copy of every class would arise"
    )
