# The operators that LIST names, a name a line, of OPS_DEF:
#   cmake -DLIST=... -DOPS_DEF=... -DOVERLOADS=... -DOUTPUT=... -DLEFT_OUT=... -P select_ops.cmake
# OUTPUT gets their lines of ops.def, LEFT_OUT the schemas of all others: what a call means does not
# depend on what was left out.
cmake_policy(VERSION 3.18)
file(READ "${OPS_DEF}" defs)
string(REGEX REPLACE "//[^\n]*\n" "" defs "${defs}")
set(defs "\n${defs}")
file(READ "${OVERLOADS}" overloads)
set(overloads "\n${overloads}")
file(STRINGS "${LIST}" wanted REGEX "^[^# ]")
list(REMOVE_DUPLICATES wanted)
list(SORT wanted)

set(selected)
foreach(name IN LISTS wanted)
  string(REGEX REPLACE "([][+.*()^$?])" "[\\1]" pattern "${name}")
  string(REGEX REPLACE "[.].*" "" base "${name}")
  if(defs MATCHES "\n([A-Z_]+[(][^\"\n]*\"${pattern}[(][^\n]*\n)")
    set(line "${CMAKE_MATCH_1}")
    string(APPEND selected "${line}")
    string(REPLACE "\n${line}" "\n" defs "${defs}")
  elseif(NOT overloads MATCHES "\n${base}\n")  # no operator that is a body in the language, either
    message(WARNING "${LIST} names ${name}, which this library does not have")
  endif()
endforeach()
if(NOT selected)
  message(FATAL_ERROR "${LIST} names no operator of this library")
endif()
file(WRITE "${OUTPUT}" "${selected}")

string(REGEX REPLACE "[A-Z_]+[(][^\"\n]*\"([^\n]*)\"[)]\n" "\\1\n" defs "${defs}")
string(REGEX REPLACE "[\\](.)" "\\1" defs "${defs}")
string(SUBSTRING "${defs}" 1 -1 defs)
file(WRITE "${LEFT_OUT}" "${defs}")
