# Runs PROGRAM with ARGUMENT on what is in the file INPUT; EMULATOR runs programs for other systems.
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" "${ARGUMENT}" INPUT_FILE "${INPUT}"
                RESULT_VARIABLE status OUTPUT_VARIABLE text)
string(REPLACE "\r\n" "\n" text "${text}")  # of Windows
execute_process(COMMAND "${CMAKE_COMMAND}" -E echo_append "${text}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
