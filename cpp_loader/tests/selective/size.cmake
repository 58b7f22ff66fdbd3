# Fails where the program, stripped, is larger than it may be:
#   cmake -DPROGRAM=... -DSTRIP=... -DMOST=... -P size.cmake
execute_process(COMMAND "${STRIP}" -o "${PROGRAM}.stripped" "${PROGRAM}" RESULT_VARIABLE bad)
if(bad)
  message(FATAL_ERROR "${STRIP}: ${bad}")
endif()
file(SIZE "${PROGRAM}.stripped" bytes)
message(STATUS "${PROGRAM}: ${bytes} bytes stripped, of ${MOST}")
if(bytes GREATER MOST)
  message(FATAL_ERROR "${PROGRAM} is larger than ${MOST} bytes")
endif()
