# Deflates the schemas of OPS_DEF into the numbers of an array in the file OUTPUT:
#   cmake -DOPS_DEF=... -DOUTPUT=... -P pack_schemas.cmake
# Each ends in a line feed, so each takes as many bytes as optable.cpp counts for its literal.
include("${CMAKE_CURRENT_LIST_DIR}/deflate.cmake")
file(READ "${OPS_DEF}" text)
string(REGEX REPLACE "//[^\n]*\n" "" text "${text}")
string(REGEX REPLACE "[A-Z_]+[(][^\"\n]*\"([^\n]*)\"[)]\n" "\\1\n" text "${text}")
string(REGEX REPLACE "[\\](.)" "\\1" text "${text}")
deflate("${text}" "${OUTPUT}" bytes size)
file(WRITE "${OUTPUT}" "${bytes}\n")
