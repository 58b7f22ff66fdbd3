"""The functions, modules and objects that users hold, and how they are made.
module            ScriptFunction, ScriptModule and their methods
module_state      parameters, buffers and submodules of a ScriptModule
scripting         Python modules compiled to ScriptModules
script_class      classes decorated with `script`
instances         objects of compiled classes as Python sees them
compilation_unit  functions compiled from a text
freezing          a module as a function of its inputs alone
optimizing        a frozen module made fast
inspection        what an archive needs and what it lacks
"""
