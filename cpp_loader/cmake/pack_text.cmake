# Deflates the file INPUT into the numbers of an array in the file OUTPUT, after its size:
#   cmake -DINPUT=... -DOUTPUT=... -P pack_text.cmake
include("${CMAKE_CURRENT_LIST_DIR}/deflate.cmake")
file(READ "${INPUT}" text)
deflate("${text}" "${OUTPUT}" bytes size)
file(WRITE "${OUTPUT}" "PACKED(${size}, ${bytes})\n")
