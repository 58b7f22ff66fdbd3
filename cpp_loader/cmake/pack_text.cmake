# Deflates the file INPUT into the numbers of an array in the file OUTPUT, after its size:
#   cmake -DINPUT=... -DOUTPUT=... -P pack_text.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}.txt" "${text}")
file(SIZE "${OUTPUT}.txt" size)
file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.gz" PATHS "${OUTPUT}.txt" FORMAT raw COMPRESSION GZip)
file(READ "${OUTPUT}.gz" bytes HEX)
# What follows the ten bytes of a header without a name, of which four are the time.
if(NOT bytes MATCHES "^1f8b0800")
  message(FATAL_ERROR "${OUTPUT}.gz has more in its header than expected")
endif()
string(SUBSTRING "${bytes}" 20 -1 bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "PACKED(${size}, ${bytes})\n")
