// The table of operators: finds operators by name, decompresses and parses their schemas.
#include "optable.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "custom.h"
#include "forms.h"
#include "ops/quantized/plain.h"

// The operators of the table: all, or a selection for this build. The others are declared but not
// referenced, so that programs link without them.
#if !defined(SL_SELECTED_OPS)
#define SL_SELECTED_OPS "ops.def"
#endif

namespace scriptlang {

#define SL_OPERATOR(symbol, schema) void op_##symbol(Context&, Args, Value*);
#define SL_QUANTIZED(symbol, way, outs, schema) void op_##symbol(Context&, Args, Value*);
#define SL_QUANTIZED_FORM(symbol, kind, base, outs, schema) \
  void op_##symbol(Context&, Args, Value*);
#define SL_FORM(symbol, kind, base, outs, schema) void op_##symbol(Context&, Args, Value*);
#include "ops.def"
#undef SL_OPERATOR
#undef SL_QUANTIZED
#undef SL_QUANTIZED_FORM
#undef SL_FORM

#define SL_OPERATOR(symbol, schema)
#define SL_QUANTIZED(symbol, way, outs, schema)                                                    \
  [[maybe_unused]] static void op_quantized_or_##symbol(Context& context, Args args, Value* out) { \
    if (__builtin_expect(!quantized_ways::concerns(args), 1)) {                                    \
      return op_##symbol(context, args, out);                                                      \
    }                                                                                              \
    if constexpr (quantized_ways::kKept) {                                                         \
      quantized_ways::way(op_##symbol, outs, context, args, out);                                  \
    } else {                                                                                       \
      quantized_ways::left_out(args);                                                              \
    }                                                                                              \
  }
#define SL_QUANTIZED_FORM(symbol, kind, base, outs, schema)
#define SL_FORM(symbol, kind, base, outs, schema)
#include "ops.def"
#undef SL_OPERATOR
#undef SL_QUANTIZED
#undef SL_QUANTIZED_FORM
#undef SL_FORM

#define SL_OPERATOR(symbol, schema)
#define SL_QUANTIZED(symbol, way, outs, schema)
#define SL_QUANTIZED_FORM(symbol, kind, base, outs, schema)                                        \
  [[maybe_unused]] static void op_quantized_or_##symbol(Context& context, Args args, Value* out) { \
    if (__builtin_expect(!quantized_ways::concerns(args), 1)) {                                    \
      return op_##symbol(context, args, out);                                                      \
    }                                                                                              \
    forms::kind(op_##base, outs, context, args, out);                                              \
  }
#define SL_FORM(symbol, kind, base, outs, schema)             \
  void op_##symbol(Context& context, Args args, Value* out) { \
    forms::kind(op_##base, outs, context, args, out);         \
  }
#include "ops.def"
#undef SL_OPERATOR
#undef SL_QUANTIZED
#undef SL_QUANTIZED_FORM
#undef SL_FORM

namespace {

// The layout of the schema texts, one after the other; used for offsets only.
struct Texts {
#define SL_OPERATOR(symbol, schema) char symbol[sizeof schema];
#define SL_QUANTIZED(symbol, way, outs, schema) char symbol[sizeof schema];
#define SL_QUANTIZED_FORM(symbol, kind, base, outs, schema) char symbol[sizeof schema];
#define SL_FORM(symbol, kind, base, outs, schema) char symbol[sizeof schema];
#include SL_SELECTED_OPS
#undef SL_OPERATOR
#undef SL_QUANTIZED
#undef SL_QUANTIZED_FORM
#undef SL_FORM
};
constexpr unsigned char kDeflated[] = {
#if !defined(SL_OP_SCAN)  // scanning for operators needs no schemas
#include "schemas.inc"
#endif
};

std::unique_ptr<char[]> inflated() {
  std::unique_ptr<char[]> texts(new char[sizeof(Texts)]);
  z_stream stream = {};
  stream.next_in = const_cast<unsigned char*>(kDeflated);
  stream.avail_in = sizeof kDeflated;
  stream.next_out = reinterpret_cast<unsigned char*>(texts.get());
  stream.avail_out = sizeof(Texts);
  const bool whole = inflateInit2(&stream, -MAX_WBITS) == Z_OK &&
                     inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) raise(ErrorKind::MemoryError, "the operators' schemas cannot be inflated");
  std::replace(texts.get(), texts.get() + sizeof(Texts), '\n', '\0');
  return texts;
}

constexpr OpEntry kTable[] = {
#define SL_OPERATOR(symbol, schema) {offsetof(Texts, symbol), op_##symbol},
#define SL_QUANTIZED(symbol, way, outs, schema) {offsetof(Texts, symbol), op_quantized_or_##symbol},
#define SL_QUANTIZED_FORM(symbol, kind, base, outs, schema) \
  {offsetof(Texts, symbol), op_quantized_or_##symbol},
#define SL_FORM(symbol, kind, base, outs, schema) {offsetof(Texts, symbol), op_##symbol},
#include SL_SELECTED_OPS
#undef SL_OPERATOR
#undef SL_QUANTIZED
#undef SL_QUANTIZED_FORM
#undef SL_FORM
};
constexpr int kCount = int(sizeof kTable / sizeof kTable[0]);

std::atomic<const Schema*> parsed[kCount];

}  // namespace

const char* OpEntry::text() const {
  if (at & kCustomEntry) return custom_text(*this);
  static const char* const texts = inflated().release();  // at the first lookup
  return texts + at;
}

int op_count() { return kCount; }
const OpEntry& op_at(int index) { return kTable[index]; }

const OpEntry* find_op(std::string_view name) {
  const OpEntry* end = kTable + kCount;
  const OpEntry* it = std::lower_bound(
      kTable, end, name,
      [](const OpEntry& entry, std::string_view n) { return entry.qualified_name() < n; });
  return it != end && it->qualified_name() == name ? it : find_custom(name);
}

const Schema& schema_of(const OpEntry& entry) {
  if (entry.at & kCustomEntry) return custom_schema(entry);
  std::atomic<const Schema*>& slot = parsed[&entry - kTable];
  if (const Schema* schema = slot.load(std::memory_order_acquire)) return *schema;
  memory::RunScope scope(false);  // defaults are shared by all programs
  auto fresh = std::make_unique<const Schema>(parse_schema(entry.text()));
  const Schema* expected = nullptr;
  if (slot.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) {
    return *fresh.release();
  }
  return *expected;
}

Generator& default_generator() {
  static Ref<Generator> generator = Generator::make();
  return *generator;
}

}  // namespace scriptlang
