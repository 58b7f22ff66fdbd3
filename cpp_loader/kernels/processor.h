// What the processor can do: an x86 one is asked itself.  __builtin_cpu_supports() reads what the
// library of the compiler has found out, which some of them (zig's, of which wheels are made) leave
// empty.  64-bit ARM processors are asked by the system.
#pragma once

namespace scriptlang::kernels {

// Whether programs may use these instructions: avx, fma, f16c, avx2, bmi2, avx512f, avx512bw,
// avx512dq, avx512vl, avx512vnni, avx512bf16 of x86, and dotprod of ARM.  No other processor has
// them.
bool processor_has(const char* name) noexcept;

}  // namespace scriptlang::kernels
