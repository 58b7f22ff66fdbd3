// The operators of this build: a table sorted by name, made from ops/ops.def.
#pragma once

#include <string>
#include <string_view>

#include "op.h"
#include "values/schema.h"

namespace scriptlang {

struct OpEntry {
  // The offset of the schema in the text of all schemas: unlike a pointer, it needs no relocation
  // when the library is loaded. With kCustomEntry set, the index of a registered operator (see
  // custom.h).
  uint32_t at;
  OpFn run;
  const char* text() const;  // the schema; up to '(' it is the qualified name
  std::string_view qualified_name() const {
    std::string_view schema(text());
    return schema.substr(0, schema.find('('));
  }
};

int op_count();
const OpEntry& op_at(int index);
const OpEntry* find_op(std::string_view qualified_name);  // null where this build lacks it
const Schema& schema_of(const OpEntry& entry);            // parsed at first use and cached

// The generator of random operators when the caller gave none. There is one per process.
Generator& default_generator();

}  // namespace scriptlang
