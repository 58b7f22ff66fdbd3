# Deflates the schemas of OPS_DEF into the numbers of an array in the file OUTPUT:
#   cmake -DOPS_DEF=... -DOUTPUT=... -P pack_schemas.cmake
# Each ends in a line feed, so each takes as many bytes as optable.cpp counts for its literal.
file(READ "${OPS_DEF}" text)
string(REGEX REPLACE "//[^\n]*\n" "" text "${text}")
string(REGEX REPLACE "[A-Z_]+[(][^\"\n]*\"([^\n]*)\"[)]\n" "\\1\n" text "${text}")
string(REGEX REPLACE "[\\](.)" "\\1" text "${text}")
file(WRITE "${OUTPUT}.txt" "${text}")
file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.gz" PATHS "${OUTPUT}.txt" FORMAT raw COMPRESSION GZip)
file(READ "${OUTPUT}.gz" bytes HEX)
# What follows the ten bytes of a header without a name, of which four are the time.
if(NOT bytes MATCHES "^1f8b0800")
  message(FATAL_ERROR "${OUTPUT}.gz has more in its header than expected")
endif()
string(SUBSTRING "${bytes}" 20 -1 bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "${bytes}\n")
