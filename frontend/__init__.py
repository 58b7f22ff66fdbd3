"""Python source or a traced run -> Graph.

A room imports from the rooms above it.  What a part needs of one that stands on it, as a call needs
the function that is called to be compiled, it asks the whole for (`whole.py`).

syntax/     what the syntax of a program says by itself: names, lines, marks, annotations
overloads/  which overload a call means (matching.py), and what converts its arguments
values/     what an expression may stand for (sugared.py, simple.py); scopes; the builder
bodies/     the body of a function becomes a graph (emit.py): statements and expressions
names/      what the names of Python, torch and math mean in a program
python/     functions, classes and objects of Python (script.py, classes.py, resolver.py)
modules/    modules: their types, what is read from Python, what they are in programs
tracing/    recording a run (trace.py), of our tensors or of torch's
"""

if __name__ == "frontend":
    raise ImportError(
        "import scriptlang.frontend, not frontend: a second copy of every class would arise"
    )
