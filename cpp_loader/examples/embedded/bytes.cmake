# Writes the bytes of INPUT as a C source that defines <NAME>_bytes and <NAME>_size:
#   cmake -DINPUT=curve.pt -DNAME=curve -DOUTPUT=curve.c -P bytes.cmake
file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REPEAT "." 80 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include <stddef.h>
const size_t ${NAME}_size = ${size};
const unsigned char ${NAME}_bytes[] = {
${bytes}};
")
