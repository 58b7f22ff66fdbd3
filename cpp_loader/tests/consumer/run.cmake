# Installs BUILD below WORK, then configures, builds and runs the clients in SOURCE against it.
file(REMOVE_RECURSE "${WORK}")
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed:\n${text}")
  endif()
endfunction()
must(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix")
must(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
     "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
     "-DSL_RUN=${SL_RUN}"
     "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_C_FLAGS=${FLAGS}")
must(${CMAKE_COMMAND} --build "${WORK}/build")
must(${CMAKE_CTEST_COMMAND} --test-dir "${WORK}/build" --output-on-failure --no-tests=error)
