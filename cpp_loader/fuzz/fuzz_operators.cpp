// Input: two bytes that choose an operator, and bytes that choose its arguments. It may raise; it
// may not crash, and what it gives must lie in its memory.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "../kernels/parallel.h"
#include "operator_arguments.h"

using namespace scriptlang;

namespace {

// Reads every element, so that a sanitizer sees a result that points outside its memory.
int64_t touch(const Value& v) {
  if (v.is_list() || v.is_tuple()) {
    int64_t sum = 0;
    for (const Value& item : items_of(v)) sum += touch(item);
    return sum;
  }
  if (!v.is_tensor() || v.as_tensor().numel() == 0) return 0;
  const Tensor& t = v.as_tensor();
  int64_t index[kMaxDims] = {}, sum = 0, left = std::min<int64_t>(t.numel(), 100000);
  const char* at = static_cast<const char*>(t.raw());
  for (; left > 0; --left) {
    int64_t offset = 0;
    for (int64_t d = 0; d < t.dim(); ++d) offset += index[d] * t.stride(d);
    for (int64_t b = 0; b < t.itemsize(); ++b) sum += at[offset * t.itemsize() + b];
    for (int64_t d = t.dim() - 1; d >= 0 && ++index[d] == t.size(d); --d) index[d] = 0;
  }
  return sum;
}

volatile int64_t seen;

void call(const OpEntry& entry, fuzz::Choices& choices) {
  const Schema& schema = schema_of(entry);
  std::vector<Value> values = fuzz::OperatorArguments(choices).of(schema);
  std::vector<Value> out(schema.returns.size() + 1);
  Context context;
  context.generator = &default_generator();
  context.print = context.warn = [](const char*, size_t, void*) {};
  entry.run(context, Args(values.data(), int(values.size())), out.data());
  for (const Value& v : out) seen = seen + touch(v);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const OpEntry& entry = op_at((data[0] | data[1] << 8) % op_count());
  static bool is_set = false;
  if (!is_set) kernels::set_thread_count(1);
  is_set = true;
  if (std::getenv("FUZZ_SHOW")) std::fprintf(stderr, "%s\n", entry.text());
  memory::LimitScope limit(int64_t{256} << 20);
  fuzz::Choices choices(data + 2, size - 2);
  try {
    call(entry, choices);
  } catch (const Error& e) {
    if (std::getenv("FUZZ_SHOW")) std::fprintf(stderr, "%s\n", e.what());
  } catch (const std::bad_alloc&) {  // as the machine does
  } catch (const std::length_error&) {}
  return 0;
}
