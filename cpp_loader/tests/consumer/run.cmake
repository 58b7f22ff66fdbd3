# Installs BUILD below WORK, then configures, builds and runs the clients in SOURCE against it; with
# OTHER_WAYS, against the shared library and as pkg-config says, too. CROSS: settings of a build for
# another system.
file(REMOVE_RECURSE "${WORK}")
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed:\n${text}")
  endif()
endfunction()
must(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix")
set(compilers "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_C_FLAGS=${FLAGS}" ${CROSS})
must(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
     ${compilers} "-DSL_RUN=${SL_RUN}")
must(${CMAKE_COMMAND} --build "${WORK}/build")
must(${CMAKE_CTEST_COMMAND} --test-dir "${WORK}/build" --output-on-failure --no-tests=error)
if(NOT OTHER_WAYS)
  return()
endif()

# The shared library.
must(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/shared" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
     -Dlibrary=scriptlang::shared ${compilers})
must(${CMAKE_COMMAND} --build "${WORK}/shared" --target client_c client_cpp client_modules)
file(GLOB dlls "${WORK}/prefix/bin/*.dll")  # which Windows looks for beside a program
file(COPY ${dlls} DESTINATION "${WORK}/shared")
must(${CMAKE_CTEST_COMMAND} --test-dir "${WORK}/shared" --output-on-failure --no-tests=error
     -R "^client_(c|cpp|modules)_")

if(CROSS)
  return()
endif()
set(archive "${SOURCE}/../data/client_plain.pt")
# A project in C alone.
must(${CMAKE_COMMAND} -S "${SOURCE}/c_alone" -B "${WORK}/c_alone" ${compilers}
     "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
must(${CMAKE_COMMAND} --build "${WORK}/c_alone")
must("${WORK}/c_alone/c_alone" "${archive}")
# A project without CMake, which asks pkg-config; and a program that needs no library at run time.
find_program(PKG_CONFIG NAMES pkgconf pkg-config)
if(NOT PKG_CONFIG)
  message(STATUS "there is no pkg-config: what it says is not tested")
  return()
endif()
file(GLOB_RECURSE pc "${WORK}/prefix/*/scriptlang.pc")
get_filename_component(pc_folder "${pc}" DIRECTORY)
get_filename_component(lib_folder "${pc_folder}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
function(ask out package)
  execute_process(COMMAND "${PKG_CONFIG}" ${ARGN} ${package} OUTPUT_VARIABLE text
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "pkg-config ${ARGN} ${package} failed")
  endif()
  separate_arguments(words UNIX_COMMAND "${text}")
  set(${out} "${words}" PARENT_SCOPE)
endfunction()
ask(compile scriptlang --cflags)
ask(link scriptlang --libs)
ask(link_static scriptlang --static --libs)
ask(link_archive scriptlang-static --libs)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
foreach(name values tensors calls modules files)
  list(APPEND sources "${SOURCE}/${name}.c")
endforeach()
must(${C_COMPILER} -std=c99 ${flags} ${sources} ${compile} ${link} -lm -o "${WORK}/by_name")
must(${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${lib_folder}" "${WORK}/by_name" "${archive}")
must(${C_COMPILER} -std=c99 ${flags} ${sources} ${compile} ${link_archive} -o "${WORK}/archive")
must("${WORK}/archive" "${archive}")  # beside the shared library, without it
if(NOT FLAGS)
  must(${C_COMPILER} -std=c99 -static ${sources} ${compile} ${link_static} -o "${WORK}/whole")
  must("${WORK}/whole" "${archive}")
endif()
