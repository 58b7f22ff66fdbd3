# The files of kernels/isa are compiled once per instruction set; dispatch.cpp picks at run time.
# They keep NaN and infinities; a*b+c may be fused, as each formula allows for.
file(GLOB isa_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/isa/*.cpp")

# Hundreds of plain loops that the compiler makes vectors of: -O3 makes half as much code again, all
# of it for the few elements that no vector takes. And what is written in vectors.
set(plain_sources plain_loops dense_rows grid half_product integer_product pair_loops resize
    special_loops)
list(TRANSFORM plain_sources PREPEND "${CMAKE_CURRENT_LIST_DIR}/isa/")
list(TRANSFORM plain_sources APPEND ".cpp")
list(REMOVE_ITEM isa_sources ${plain_sources})

# What becomes of sums of codes is rounded step by step, as PyTorch's kernels round it; so are
# positions in images.
set_source_files_properties(
  "${CMAKE_CURRENT_LIST_DIR}/isa/grid.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/isa/quantized_gemm.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/isa/quantized_rows.cpp"
  PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

# Nothing throws in loops that call nothing but mathematics: they need no tables for it.
foreach(leaf columns double_loops lines plain_loops pointwise tiles_f32 tiles_f64 twister
        wide_loops)
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/isa/${leaf}.cpp"
    PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-asynchronous-unwind-tables")
endforeach()

# The sums of a tile fill the registers of ARM: GCC would load more before it is needed than there
# is room for.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set_property(SOURCE "${CMAKE_CURRENT_LIST_DIR}/isa/quantized_gemm.cpp"
    "${CMAKE_CURRENT_LIST_DIR}/isa/tiles_f32.cpp" "${CMAKE_CURRENT_LIST_DIR}/isa/tiles_f64.cpp"
    APPEND PROPERTY COMPILE_OPTIONS -fno-schedule-insns)
endif()

# What is computed from tables gives the same bits everywhere; each operator of a pair, or of an
# optimizer's step, rounds, and random numbers are PyTorch's.
set_source_files_properties(
  "${CMAKE_CURRENT_LIST_DIR}/isa/normal.cpp" "${CMAKE_CURRENT_LIST_DIR}/isa/pair_loops.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/isa/special_loops.cpp" "${CMAKE_CURRENT_LIST_DIR}/isa/updates.cpp"
  PROPERTIES
  COMPILE_OPTIONS "-ffp-contract=off;-fno-exceptions;-fno-asynchronous-unwind-tables")

function(scriptlang_add_isa name)
  set(plain -O2)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND plain -ftree-vectorize -fvect-cost-model=dynamic)
  endif()
  set(large)
  if(SCRIPTLANG_SMALL)  # a fifth smaller, and no slower where what is written in vectors runs
    set(large ${plain})
  endif()
  set(base ${base_of_${name}})
  if(base AND base IN_LIST built_isas)  # the base's set, with other tables from these files
    set(parts quantized_gemm set)
    list(TRANSFORM parts PREPEND "${CMAKE_CURRENT_LIST_DIR}/isa/")
    list(TRANSFORM parts APPEND ".cpp")
    scriptlang_add_kernels(${name} ${name} "${parts}" ${large} -DSL_BASE_ISA=${base} ${ARGN})
    target_compile_definitions(scriptlang PRIVATE SL_HAS_ISA_${name})
    return()
  endif()
  scriptlang_add_kernels(${name} ${name} "${isa_sources}" ${large} ${ARGN})
  scriptlang_add_kernels(${name} ${name}_plain "${plain_sources}" ${plain} ${ARGN})
  target_compile_definitions(scriptlang PRIVATE SL_HAS_ISA_${name})
endfunction()

function(scriptlang_add_kernels isa part sources)
  set(target scriptlang_kernels_${part})
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src")
  target_compile_definitions(${target} PRIVATE SL_ISA=${isa})
  scriptlang_flags(${target})
  target_compile_options(${target} PRIVATE
    -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -Wno-psabi ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # of GCC's own headers of intrinsics
    target_compile_options(${target} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  target_sources(scriptlang PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

# SCRIPTLANG_ISA: those that are built, all by default. Where one is asked for, nothing is chosen at
# run time; tests of kernels want the choice.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(known_isas portable avx2 avx512)
  # Processors of the last ten years have AVX2: what runs on older ones is made small.
  set(flags_of_portable -Os)
  set(flags_of_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
  set(flags_of_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mbmi -mbmi2
      -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(known_isas portable dotprod)
  set(flags_of_dotprod -march=armv8.2-a+dotprod)
  set(base_of_dotprod portable)
else()
  set(known_isas portable)
endif()
if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC aligns the stack of Windows for 16 bytes, but stores larger vectors there as if it were
  # aligned for them (its bug 54412), which ends the program. New assemblers take another
  # instruction, which needs no alignment.
  include(CheckCXXCompilerFlag)
  set(any_alignment -Wa,-muse-unaligned-vector-move)
  check_cxx_compiler_flag(${any_alignment} SCRIPTLANG_ANY_ALIGNMENT)
  check_cxx_source_compiles("#if !defined(__AVX__)
#error the compiler makes no large vectors of its own
#endif
int main() {}" SCRIPTLANG_AVX_EVERYWHERE)
  if(SCRIPTLANG_ANY_ALIGNMENT AND NOT SCRIPTLANG_LTO)  # which calls the assembler at the end
    if(SCRIPTLANG_AVX_EVERYWHERE)
      target_compile_options(scriptlang PRIVATE ${any_alignment})
      add_compile_options(${any_alignment})  # for the kernels
    endif()
    list(APPEND flags_of_avx2 ${any_alignment})
    list(APPEND flags_of_avx512 ${any_alignment})
  elseif(SCRIPTLANG_AVX_EVERYWHERE)
    message(FATAL_ERROR "GCC for Windows would misalign AVX vectors on the stack: build without "
                        "-march or -mavx in CMAKE_CXX_FLAGS, or with clang")
  else()
    set(known_isas portable)
  endif()
endif()
if(EMSCRIPTEN)
  set(flags_of_portable -msimd128)
  # clang 14 takes hours over its vectors.
  set_property(SOURCE "${CMAKE_CURRENT_LIST_DIR}/isa/rows.cpp" APPEND PROPERTY
               COMPILE_OPTIONS -mno-simd128)
endif()
set(built_isas ${SCRIPTLANG_ISA})
if(NOT built_isas)
  set(built_isas ${known_isas})
endif()
list(LENGTH built_isas count_of_isas)
if(SCRIPTLANG_ISA AND count_of_isas EQUAL 1 AND NOT SCRIPTLANG_TESTS)
  add_compile_definitions(SL_ONE_ISA=${built_isas})
  list(REMOVE_ITEM isa_sources "${CMAKE_CURRENT_LIST_DIR}/isa/set.cpp")
endif()
foreach(isa ${built_isas})
  if(NOT isa IN_LIST known_isas)
    message(FATAL_ERROR "SCRIPTLANG_ISA: ${isa} is none of ${known_isas}, "
                        "which there are for ${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  scriptlang_add_isa(${isa} ${flags_of_${isa}})
endforeach()
