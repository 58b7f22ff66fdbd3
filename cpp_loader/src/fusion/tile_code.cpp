// Instructions on tiles: execution, compilation, registers and buffers.
#include "tile_code.h"

#include <algorithm>
#include <cstring>

#include "kernels/pairs.h"

namespace scriptlang {

using Extent = TileCode::Extent;
using Place = TileCode::Place;
using Register = TileCode::Register;
using Instruction = TileCode::Instruction;

void TileCode::place(char* base, int64_t buffer_bytes, char** at) const {
  for (size_t r = 0; r < registers.size(); ++r) {
    if (registers[r].place == Place::kBuffer) {
      at[r] = base + registers[r].at * buffer_bytes;
    } else if (registers[r].place == Place::kCell) {
      at[r] = const_cast<char*>(cells[size_t(registers[r].at)].bytes);
    }
  }
}

void TileCode::run(const Instruction& i, void* out, const void* const* in, const int64_t* step,
                   int64_t n) const {
  if (i.convert) {
    int64_t from = step[0] * registers[size_t(i.in[0])].size;
    i.convert(n, out, registers[size_t(i.out)].size, in[0], from);
  } else {
    i.loop(n, out, in, step, params_of(i));
  }
}

bool TileCode::is_read_before(int read, int written) const {
  int first = -1, last = -1, count = int(instructions.size());
  for (int k = 0; k < count; ++k) {
    const Instruction& i = instructions[size_t(k)];
    if (i.out == written && first < 0) first = k;
    if (i.out == written && i.convert) return false;
    for (int j = 0; j < i.count; ++j) {
      if (i.in[j] == read) last = k;
    }
  }
  return last <= first;
}

namespace {

// The extent of the result of a loop on operands of these extents.
Extent joined(Extent a, Extent b) {
  if (a == b || b == Extent::kOne) return a;
  return a == Extent::kOne ? b : Extent::kFull;
}

}  // namespace

int TileCompiler::add_register(Place place, int at, Extent extent, ScalarType type) {
  c_.registers.push_back({place, at, extent, itemsize(type)});
  return int(c_.registers.size()) - 1;
}

int TileCompiler::add_input(int value, int stream, Extent extent, bool direct) {
  ScalarType type = type_of(value);
  int r = add_register(direct ? Place::kStream : Place::kBuffer, stream, extent, type);
  if (!direct) kept_.push_back(r);
  return known_[{value, type}] = r;
}

int TileCompiler::number(const Scalar& n, ScalarType type) {
  c_.cells.emplace_back();
  store_number(n, type, c_.cells.back().bytes);
  return add_register(Place::kCell, int(c_.cells.size()) - 1, Extent::kOne, type);
}

int TileCompiler::register_of(int value) const {
  auto found = known_.find({value, type_of(value)});
  return found == known_.end() ? -1 : found->second;
}

// The register of a value in the element type that a loop wants; adds a conversion if needed.
int TileCompiler::operand(int value, ScalarType type) {
  auto found = known_.find({value, type});
  if (found != known_.end()) return found->second;
  int from = known_.at({value, type_of(value)});
  int to = add_register(Place::kBuffer, 0, c_.registers[size_t(from)].extent, type);
  convert(from, type_of(value), to, type);
  return known_[{value, type}] = to;
}

void TileCompiler::convert(int from, ScalarType from_type, int to, ScalarType to_type) {
  Instruction i;
  i.convert = kernels::converter(to_type, from_type);
  i.count = 1;
  i.in[0] = from;
  i.step[0] = !c_.registers[size_t(from)].is_one();
  i.out = to;
  c_.instructions.push_back(i);
}

// Makes the register that holds the result of a step.
int TileCompiler::result(int value, Extent extent) {
  auto found = outputs_.find(value);
  ScalarType type = type_of(value);
  if (found == outputs_.end()) return add_register(Place::kBuffer, 0, extent, type);
  const Output& o = found->second;
  int r = add_register(o.direct ? Place::kStream : Place::kBuffer, o.stream, extent, type);
  if (!o.direct) kept_.push_back(r);
  return r;
}

bool TileCompiler::add_step(const RecordedStep& step) {
  Instruction i;
  i.loop = step.loop;
  i.row = step.row;
  i.count = step.count;
  Extent extent = Extent::kOne;
  for (int k = 0; k < step.count; ++k) {
    const RecordedStep::In& in = step.in[k];
    if (step.row && in.value < 0) {
      i.in[k] = -1;
      continue;
    }
    i.in[k] = in.value < 0 ? number(in.number, in.type) : operand(in.value, in.type);
    const Register& r = c_.registers[size_t(i.in[k])];
    i.step[k] = !r.is_one();
    extent = joined(extent, r.extent);
    if (step.row && (r.is_one() || r.extent == Extent::kPerRow)) return false;
  }
  if (step.row) extent = step.row->reduces ? Extent::kPerRow : Extent::kFull;
  else if (outputs_.count(step.result)) extent = outputs_.at(step.result).extent;
  ScalarType type = type_of(step.result);
  if (step.loop == nullptr && step.row == nullptr) {
    int to = result(step.result, extent);
    convert(i.in[0], step.produced, to, type);
    known_[{step.result, type}] = to;
    return true;
  }
  if (step.has_params) {
    c_.params.emplace_back();
    std::memcpy(c_.params.back().values, step.params, sizeof step.params);
    i.params = int(c_.params.size()) - 1;
  }
  if (step.produced == type) {
    i.out = result(step.result, extent);
    c_.instructions.push_back(i);
    known_[{step.result, type}] = i.out;
    return true;
  }
  // The loop computes in another type than that of the result (float16, for example).
  i.out = add_register(Place::kBuffer, 0, extent, step.produced);
  c_.instructions.push_back(i);
  int to = result(step.result, extent);
  convert(i.out, step.produced, to, type);
  known_[{step.result, type}] = to;
  return true;
}

void TileCompiler::join_pairs() {
  std::vector<Instruction>& code = c_.instructions;
  std::vector<int> readers(c_.registers.size()), writer(c_.registers.size(), -1);
  for (const Instruction& i : code) {
    for (int j = 0; j < i.count; ++j) {
      if (i.in[j] >= 0) ++readers[size_t(i.in[j])];
    }
  }
  for (int r : kept_) ++readers[size_t(r)];
  auto pair_of = [&](const Instruction& then, int j) -> kernels::Loop {
    size_t r = size_t(then.in[j]);
    const Register &read = c_.registers[r], &out = c_.registers[size_t(then.out)];
    bool alone = readers[r] == 1 && writer[r] >= 0 && read.place == Place::kBuffer;
    if (!alone || read.extent != out.extent) return nullptr;
    return kernels::pair_loop(code[size_t(writer[r])].loop, then.loop, j);
  };
  size_t kept = 0;
  std::vector<bool> joined(code.size());
  for (size_t k = 0; k < code.size(); ++k) {
    Instruction& i = code[k];
    for (int j = 0; i.loop != nullptr && i.params < 0 && j < i.count; ++j) {
      kernels::Loop loop = pair_of(i, j);
      if (loop == nullptr) continue;
      size_t first = size_t(writer[size_t(i.in[j])]);
      Instruction pair = code[first];
      joined[first] = true;
      pair.loop = loop;
      pair.out = i.out;
      if (i.count == 2) {
        pair.in[2] = i.in[1 - j];
        pair.step[2] = i.step[1 - j];
      }
      pair.count += i.count - 1;
      i = pair;
      break;
    }
    writer[size_t(i.out)] = int(k);
  }
  for (size_t k = 0; k < code.size(); ++k) {
    if (!joined[k]) code[kept++] = code[k];
  }
  code.resize(kept);
}

void TileCompiler::place_buffers() {
  std::vector<Register>& registers = c_.registers;
  std::vector<int> last(registers.size(), -1);
  int count = int(c_.instructions.size());
  for (int k = 0; k < count; ++k) {
    const Instruction& i = c_.instructions[size_t(k)];
    last[size_t(i.out)] = std::max(last[size_t(i.out)], k);
    for (int j = 0; j < i.count; ++j) {
      if (i.in[j] >= 0) last[size_t(i.in[j])] = k;
    }
  }
  std::vector<int> free;
  int used = 0;
  auto take = [&](Register& r) {
    if (free.empty()) free.push_back(used++);
    r.at = free.back();
    free.pop_back();
  };
  for (const Register& r : registers) {
    if (r.place == Place::kBuffer) c_.widest = std::max(c_.widest, r.size);
  }
  for (int r : kept_) {
    take(registers[size_t(r)]);
    last[size_t(r)] = count;
  }
  for (int k = 0; k < count; ++k) {
    const Instruction& i = c_.instructions[size_t(k)];
    Register& out = registers[size_t(i.out)];
    bool kept = last[size_t(i.out)] == count;
    bool placed = out.place != Place::kBuffer || kept;
    bool freed[kMaxInputs] = {};
    for (int j = 0; j < i.count; ++j) {  // a loop may write in place
      if (i.in[j] < 0) continue;
      Register& in = registers[size_t(i.in[j])];
      bool dies = in.place == Place::kBuffer && last[size_t(i.in[j])] == k;
      bool again = std::find(i.in, i.in + j, i.in[j]) != i.in + j;
      if (!dies || again) continue;
      freed[j] = true;
      bool alike = in.size == out.size && in.extent == out.extent && !in.is_one();
      if (!placed && !i.convert && alike && (j == 0 || !i.row)) {
        out.at = in.at;
        placed = true;
        freed[j] = false;
      }
    }
    if (!placed) take(out);
    for (int j = 0; j < i.count; ++j) {
      if (freed[j]) free.push_back(registers[size_t(i.in[j])].at);
    }
    if (out.place == Place::kBuffer && last[size_t(i.out)] == k && !kept) free.push_back(out.at);
  }
  c_.buffers = used;
}

}  // namespace scriptlang
