"""The functions, modules and objects that users hold, and how they are made.

module            ScriptFunction, ScriptModule and their methods
module_state      parameters, buffers and submodules of a ScriptModule
scripting         Python modules compiled to ScriptModules
script_class      module classes whose instances are compiled when created
instances         `torch.jit.isinstance` in plain Python
compilation_unit  functions compiled from a text
freezing          modules whose attributes are constants of their methods
optimizing        frozen modules that run faster
inspection        reports about the contents of an archive
"""
