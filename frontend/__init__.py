"""The front end: turns Python source, the code of archives, or a traced run into a Graph.

A folder imports only from folders above it in this list.  What a module needs from a module that
imports it (compiling a call compiles the called function) is reached through `whole.py`.

syntax/     what the syntax of a program says by itself: names, lines, decorators, annotations
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
