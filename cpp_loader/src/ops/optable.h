// The operators that this build has: a table sorted by name, made from ops/ops.def.
#pragma once

#include <string>
#include <string_view>

#include "op.h"
#include "values/schema.h"

namespace scriptlang {

struct OpEntry {
  // Where the schema lies among all of them: no address that loading has to relocate. Or, marked,
  // which of those in custom.h it is.
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
const OpEntry* find_op(std::string_view qualified_name);  // null: this build lacks it
const Schema& schema_of(const OpEntry& entry);            // parsed at first use, kept

// The generator behind random operators when the caller gave none. One per process.
Generator& default_generator();

}  // namespace scriptlang
