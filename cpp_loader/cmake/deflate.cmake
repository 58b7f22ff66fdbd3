# deflate(TEXT OUTPUT BYTES SIZE): deflates a text. BYTES becomes the numbers of an array, SIZE the
# size of the text. OUTPUT is a path that the files on the way are named after.
function(deflate text output bytes size)
  file(WRITE "${output}.txt" "${text}")
  file(SIZE "${output}.txt" length)
  file(ARCHIVE_CREATE OUTPUT "${output}.gz" PATHS "${output}.txt" FORMAT raw COMPRESSION GZip)
  file(READ "${output}.gz" packed HEX)
  # What follows the ten bytes of a header without a name, of which four are the time.
  if(NOT packed MATCHES "^1f8b0800")
    message(FATAL_ERROR "${output}.gz has more in its header than expected")
  endif()
  string(SUBSTRING "${packed}" 20 -1 packed)
  string(REGEX REPLACE "(..)" "0x\\1," packed "${packed}")
  set(${bytes} "${packed}" PARENT_SCOPE)
  set(${size} "${length}" PARENT_SCOPE)
endfunction()
