// What an x86 processor can do, asked of itself.  __builtin_cpu_supports() reads what the library
// of the compiler has found out, which some of them (zig's, of which wheels are made) leave empty.
#pragma once

namespace scriptlang::kernels {

// Whether programs may use these instructions: avx, fma, f16c, avx2, bmi2, avx512f, avx512bw,
// avx512dq, avx512vl, avx512vnni, avx512bf16.  No other processor has them.
bool processor_has(const char* name) noexcept;

}  // namespace scriptlang::kernels
