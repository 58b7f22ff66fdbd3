"""compile_archive: an archive that starts at once, with graphs of forward and backward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .api import module_of
from .building import alone
from .limits import Limits
from .optim.training import compile_steps, is_training_step
from .programs import optimizing
from .programs.ahead.archived import keep_straights
from .programs.module import ScriptModule
from .serialization.archive import read_archive, write_archive


@alone
def compile_archive(
    source: Any,
    target: Any,
    *,
    optimize: bool = True,
    inputs: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> ScriptModule:
    """Load an archive and write it again with bytecode for the engines, so that it loads faster.

    A C++ library that was built without the compiler of sources loads it, too. scriptlang and
    PyTorch load it like any other archive. The bytecode is always compiled from the code in the
    archive, even if that has bytecode already.

    optimize: also optimise it (`scriptlang.optimize`); its methods stay, but its parameters are no
    longer attributes. A module in training mode is not optimised, nor is a training program. The
    extra files of the archive stay.
    inputs: for methods that ask for gradients, such as forces or the step of a training program,
    the inputs that they will be called with: by name or in order, examples or shapes as `inspect`
    takes them, where names stand for sizes of at least 2 that are not known yet; or a list of
    several tuples or dicts of them. Forward and backward are then one graph that is made now, and
    that C++ runs, too. Calls with other inputs are recorded.
    limits: what reading and compiling the archive may use.
    Returns the module that was written. Raises ShapeError for inputs that do not fit a method, and
    CompileError if there is no such graph.
    """
    archive = read_archive(source, from_code=True, limits=limits)
    restore = archive.restore if archive.pending else None
    module = module_of(archive.root, restore, "auto", limits)
    if is_training_step(module):
        compile_steps(module)
    elif optimize and not optimizing.is_training(module):
        module = optimizing.optimize(module, optimizing.methods_of(module))
    keep_straights(module, inputs or {})
    write_archive(module._object_, target, archive.all_extra_files(), compiled=True)
    return module
