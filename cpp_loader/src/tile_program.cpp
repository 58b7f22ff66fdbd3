#include "tile_program.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "../kernels/parallel.h"
#include "../kernels/scratch.h"

namespace scriptlang {

namespace {

constexpr int64_t kCacheBytes = 32 << 10;  // of the first cache, for tiles
constexpr int64_t kShortRow = 256;         // shorter rows are worked on several at a time
constexpr int64_t kParallelWork = 65536;   // instructions times elements worth a thread

}  // namespace

// ---- from steps to instructions

class TileCompiler {
 public:
  TileCompiler(TileProgram* program, const Recording& recording)
      : p_(*program), recording_(recording) {}

  bool compile(const std::vector<int>& steps, const std::vector<int>& inputs,
               const std::vector<int>& outputs) {
    if (inputs.size() + outputs.size() > TileProgram::kMaxStreams) return false;
    p_.set_geometry(recording_, inputs, outputs);
    for (size_t i = 0; i < inputs.size(); ++i) add_input(int(i), inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) output_of_[outputs[i]] = int(inputs.size() + i);
    for (int index : steps) {
      add_step(recording_.steps()[size_t(index)]);
      if (p_.registers_.size() > size_t(TileProgram::kMaxRegisters)) return false;
    }
    place_buffers();
    return true;
  }

 private:
  using Register = TileProgram::Register;
  using Place = TileProgram::Place;
  using Instruction = TileProgram::Instruction;

  ScalarType type_of(int value) const { return recording_.values()[size_t(value)].dtype(); }

  int add_register(Place place, int at, bool uniform, ScalarType type) {
    p_.registers_.push_back({place, at, uniform, itemsize(type)});
    return int(p_.registers_.size()) - 1;
  }

  void add_input(int stream, int value) {
    TileProgram::Stream& s = p_.streams_[size_t(stream)];
    bool constant = p_.is_constant(s);
    bool uniform = constant || (!p_.packs_rows_ && s.strides[0] == 0);
    s.direct = uniform || p_.is_dense(s) || (!p_.packs_rows_ && s.strides[0] == itemsize(s.type));
    s.reg = add_register(s.direct ? Place::kStream : Place::kBuffer, stream, uniform, s.type);
    known_[{value, s.type}] = s.reg;
  }

  int number(const Scalar& n, ScalarType type) {
    p_.cells_.emplace_back();
    store_number(n, type, p_.cells_.back().bytes);
    return add_register(Place::kCell, int(p_.cells_.size()) - 1, true, type);
  }

  // The register of a value in the type that a loop wants.
  int operand(int value, ScalarType type) {
    auto found = known_.find({value, type});
    if (found != known_.end()) return found->second;
    int from = known_.at({value, type_of(value)});
    bool uniform = p_.registers_[size_t(from)].uniform;
    int to = add_register(Place::kBuffer, 0, uniform, type);
    convert(from, type_of(value), to, type);
    return known_[{value, type}] = to;
  }

  void convert(int from, ScalarType from_type, int to, ScalarType to_type) {
    Instruction i;
    i.convert = kernels::converter(to_type, from_type);
    i.count = 1;
    i.in[0] = from;
    i.step[0] = !p_.registers_[size_t(from)].uniform;
    i.out = to;
    p_.instructions_.push_back(i);
  }

  // The register that the value of a step is left in.
  int result(int value, bool uniform) {
    auto output = output_of_.find(value);
    if (output == output_of_.end()) {
      return add_register(Place::kBuffer, 0, uniform, type_of(value));
    }
    TileProgram::Stream& s = p_.streams_[size_t(output->second)];
    bool in_row = !p_.packs_rows_ && s.strides[0] == itemsize(s.type);
    s.direct = p_.is_dense(s) || in_row;
    s.reg = add_register(s.direct ? Place::kStream : Place::kBuffer, output->second, false,
                         s.type);
    return s.reg;
  }

  void add_step(const PointwiseStep& step) {
    Instruction i;
    i.loop = step.loop;
    i.count = step.count;
    bool uniform = output_of_.count(step.result) == 0;
    for (int k = 0; k < step.count; ++k) {
      const PointwiseStep::In& in = step.in[k];
      i.in[k] = in.value < 0 ? number(in.number, in.type) : operand(in.value, in.type);
      bool one = p_.registers_[size_t(i.in[k])].uniform;
      i.step[k] = !one;
      uniform = uniform && one;
    }
    ScalarType type = type_of(step.result);
    if (step.loop == nullptr) {
      int to = result(step.result, uniform);
      convert(i.in[0], step.produced, to, type);
      known_[{step.result, type}] = to;
      return;
    }
    if (step.has_params) {
      p_.params_.emplace_back();
      std::memcpy(p_.params_.back().values, step.params, sizeof step.params);
      i.params = int(p_.params_.size()) - 1;
    }
    if (step.produced == type) {
      i.out = result(step.result, uniform);
      p_.instructions_.push_back(i);
      known_[{step.result, type}] = i.out;
      return;
    }
    // A result that is rounded (float16) or of another type than the loop writes.
    i.out = add_register(Place::kBuffer, 0, uniform, step.produced);
    p_.instructions_.push_back(i);
    int to = result(step.result, uniform);
    convert(i.out, step.produced, to, type);
    known_[{step.result, type}] = to;
  }

  // Gives buffers to registers from the instruction that writes them to the last that reads them.
  void place_buffers() {
    std::vector<Register>& registers = p_.registers_;
    std::vector<int> last(registers.size(), -1);
    int count = int(p_.instructions_.size());
    for (int k = 0; k < count; ++k) {
      const Instruction& i = p_.instructions_[size_t(k)];
      last[size_t(i.out)] = std::max(last[size_t(i.out)], k);
      for (int j = 0; j < i.count; ++j) last[size_t(i.in[j])] = k;
    }
    std::vector<int> free;
    int used = 0;
    auto take = [&](Register& r) {
      if (free.empty()) free.push_back(used++);
      r.at = free.back();
      free.pop_back();
    };
    int64_t widest = 1;
    for (const Register& r : registers) {
      if (r.place == Place::kBuffer) widest = std::max(widest, r.size);
    }
    for (TileProgram::Stream& s : p_.streams_) {  // of gathered and scattered streams: kept
      if (s.reg >= 0 && !s.direct) {
        take(registers[size_t(s.reg)]);
        last[size_t(s.reg)] = count;
      }
    }
    for (int k = 0; k < count; ++k) {
      const Instruction& i = p_.instructions_[size_t(k)];
      Register& out = registers[size_t(i.out)];
      bool kept = last[size_t(i.out)] == count;
      bool placed = out.place != Place::kBuffer || kept;
      bool freed[kMaxInputs] = {};
      for (int j = 0; j < i.count; ++j) {  // a loop may write where it reads
        Register& in = registers[size_t(i.in[j])];
        bool dies = in.place == Place::kBuffer && last[size_t(i.in[j])] == k;
        bool again = std::find(i.in, i.in + j, i.in[j]) != i.in + j;
        if (!dies || again) continue;
        freed[j] = true;
        if (!placed && i.loop && in.size == out.size && !in.uniform) {
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
    p_.buffers_ = used;
    int64_t bytes = std::max<int64_t>(1, used) * widest;
    for (const TileProgram::Stream& s : p_.streams_) bytes += itemsize(s.type);
    p_.tile_ = std::clamp<int64_t>(kCacheBytes / bytes, 128, 2048) & ~int64_t{63};
    if (p_.packs_rows_) p_.tile_ = std::max(p_.tile_, p_.sizes_[0]);
    p_.buffer_bytes_ = (p_.tile_ * widest + kAlignment - 1) & ~int64_t(kAlignment - 1);
    p_.grain_ = std::clamp<int64_t>(kParallelWork / std::max(count, 1), 4096, 32768);
  }

  TileProgram& p_;
  const Recording& recording_;
  std::map<std::pair<int, ScalarType>, int> known_;  // (value, type) -> register
  std::map<int, int> output_of_;                     // value -> stream
};

std::unique_ptr<TileProgram> TileProgram::make(const Recording& recording,
                                               const std::vector<int>& steps,
                                               const std::vector<int>& inputs,
                                               const std::vector<int>& outputs) {
  std::unique_ptr<TileProgram> program(new TileProgram);
  if (!TileCompiler(program.get(), recording).compile(steps, inputs, outputs)) return nullptr;
  return program;
}

// ---- geometry

// Orders the dimensions by the strides of the first output and merges those that lie evenly.
void TileProgram::set_geometry(const Recording& recording, const std::vector<int>& inputs,
                               const std::vector<int>& outputs) {
  const Tensor& shape = recording.values()[size_t(outputs[0])];
  int64_t n = shape.dim(), order[kMaxDims];
  for (int64_t d = 0; d < n; ++d) order[d] = n - 1 - d;
  std::stable_sort(order, order + n,
                   [&](int64_t a, int64_t b) { return shape.stride(a) < shape.stride(b); });
  std::vector<const Tensor*> tensors;
  for (int v : inputs) tensors.push_back(&recording.values()[size_t(v)]);
  for (int v : outputs) tensors.push_back(&recording.values()[size_t(v)]);
  inputs_ = int(inputs.size());
  streams_.resize(tensors.size());
  std::vector<int64_t> strides(tensors.size());
  for (int64_t k = 0; k < n; ++k) {
    int64_t d = order[k], size = shape.size(d);
    if (size == 1) continue;
    bool merges = ndim_ > 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = *tensors[i];
      int64_t own = d - (n - t.dim());
      strides[i] = own < 0 || t.size(own) == 1 ? 0 : t.stride(own) * t.itemsize();
      if (merges) merges = strides[i] == streams_[i].strides[ndim_ - 1] * sizes_[ndim_ - 1];
    }
    if (merges) {
      sizes_[ndim_ - 1] *= size;
      continue;
    }
    sizes_[ndim_] = size;
    for (size_t i = 0; i < tensors.size(); ++i) streams_[i].strides[ndim_] = strides[i];
    ++ndim_;
  }
  if (ndim_ == 0) {
    sizes_[0] = 1;
    ndim_ = 1;
    for (Stream& s : streams_) s.strides[0] = 0;
  }
  for (size_t i = 0; i < tensors.size(); ++i) streams_[i].type = tensors[i]->dtype();
  for (int64_t d = 1; d < ndim_; ++d) rows_ *= sizes_[d];
  packs_rows_ = rows_ > 1 && sizes_[0] < kShortRow;
}

// One run of elements without gaps, in the order of the rows.
bool TileProgram::is_dense(const Stream& s) const {
  int64_t expected = itemsize(s.type);
  for (int64_t d = 0; d < ndim_; ++d) {
    if (sizes_[d] != 1 && s.strides[d] != expected) return false;
    expected *= sizes_[d];
  }
  return true;
}

bool TileProgram::is_constant(const Stream& s) const {
  return std::all_of(s.strides, s.strides + ndim_, [](int64_t stride) { return stride == 0; });
}

bool TileProgram::may_overwrite(int input, int output) const {
  const Stream &in = streams_[size_t(input)], &out = streams_[size_t(inputs_ + output)];
  if (!is_dense(in) || !is_dense(out) || !in.direct || !out.direct || in.type != out.type) {
    return false;
  }
  int written = -1, read = -1, count = int(instructions_.size());
  for (int k = 0; k < count; ++k) {
    const Instruction& i = instructions_[size_t(k)];
    if (i.out == out.reg && written < 0) written = k;
    for (int j = 0; j < i.count; ++j) {
      if (i.in[j] == in.reg) read = k;
    }
    if (i.out == out.reg && i.convert) return false;
  }
  return read <= written;
}

// ---- running

void TileProgram::run(char* const* streams) const {
  if (rows_ == 1) {
    kernels::parallel_for(sizes_[0], grain_, [&](int64_t begin, int64_t end) {
      char* at[kMaxStreams];
      for (size_t i = 0; i < streams_.size(); ++i) {
        at[i] = streams[i] + begin * streams_[i].strides[0];
      }
      run_tiles(at, end - begin);
    });
    return;
  }
  int64_t grain = std::max<int64_t>(1, grain_ / sizes_[0]);
  kernels::parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
    if (packs_rows_) {
      run_rows(streams, begin, end);
      return;
    }
    int64_t index[kMaxDims], offset[kMaxStreams];
    for (int64_t row = begin; row < end; ++row) {
      offsets(row, index, offset);
      char* at[kMaxStreams];
      for (size_t i = 0; i < streams_.size(); ++i) at[i] = streams[i] + offset[i];
      run_tiles(at, sizes_[0]);
    }
  });
}

// Where a row begins in each stream.
void TileProgram::offsets(int64_t row, int64_t* index, int64_t* offset) const {
  for (int64_t d = 1; d < ndim_; ++d) {
    index[d] = row % sizes_[d];
    row /= sizes_[d];
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    offset[i] = 0;
    for (int64_t d = 1; d < ndim_; ++d) offset[i] += index[d] * streams_[i].strides[d];
  }
}

namespace {

// Register addresses for the buffers of one thread.
template <class Registers, class Cells>
void place(const Registers& registers, const Cells& cells, char* buffers, int64_t buffer_bytes,
           char** at) {
  for (size_t r = 0; r < registers.size(); ++r) {
    using Place = decltype(registers[r].place);
    if (registers[r].place == Place::kBuffer) {
      at[r] = buffers + registers[r].at * buffer_bytes;
    } else if (registers[r].place == Place::kCell) {
      at[r] = const_cast<char*>(cells[size_t(registers[r].at)].bytes);
    }
  }
}

}  // namespace

// n elements of a row; at: where each stream begins.
void TileProgram::run_tiles(char* const* at, int64_t n) const {
  kernels::Scratch scratch(size_t(buffers_ * buffer_bytes_));
  char* registers[kMaxRegisters];
  place(registers_, cells_, scratch.as<char>(), buffer_bytes_, registers);
  for (int64_t done = 0; done < n; done += tile_) {
    int64_t length = std::min(tile_, n - done);
    for (size_t i = 0; i < streams_.size(); ++i) {
      const Stream& s = streams_[i];
      if (s.reg < 0) continue;
      char* from = at[i] + done * s.strides[0];
      if (s.direct) {
        registers[s.reg] = from;
      } else if (int(i) < inputs_) {
        int64_t size = itemsize(s.type);
        kernels::converter(s.type, s.type)(length, registers[s.reg], size, from, s.strides[0]);
      }
    }
    execute(registers, length);
    for (size_t i = size_t(inputs_); i < streams_.size(); ++i) {
      const Stream& s = streams_[i];
      if (s.direct) continue;
      char* to = at[i] + done * s.strides[0];
      kernels::converter(s.type, s.type)(length, to, s.strides[0], registers[s.reg],
                                         itemsize(s.type));
    }
  }
}

// Rows [begin, end), several to a tile: what does not lie evenly is gathered and scattered.
void TileProgram::run_rows(char* const* base, int64_t begin, int64_t end) const {
  kernels::Scratch scratch(size_t(buffers_ * buffer_bytes_));
  char* registers[kMaxRegisters];
  place(registers_, cells_, scratch.as<char>(), buffer_bytes_, registers);
  int64_t inner = sizes_[0], most = std::max<int64_t>(1, tile_ / inner);
  int64_t index[kMaxDims], offset[kMaxStreams];
  auto copy_rows = [&](size_t first, size_t last, bool in, int64_t row, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      offsets(row + r, index, offset);
      for (size_t i = first; i < last; ++i) {
        const Stream& s = streams_[i];
        if (s.direct || s.reg < 0) continue;
        int64_t size = itemsize(s.type);
        char *memory = base[i] + offset[i], *tile = registers[s.reg] + r * inner * size;
        kernels::Convert copy = kernels::converter(s.type, s.type);
        if (in) copy(inner, tile, size, memory, s.strides[0]);
        else copy(inner, memory, s.strides[0], tile, size);
      }
    }
  };
  bool gathers = false, scatters = false;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].direct || streams_[i].reg < 0) continue;
    (int(i) < inputs_ ? gathers : scatters) = true;
  }
  for (int64_t row = begin; row < end; row += most) {
    int64_t rows = std::min(most, end - row);
    for (size_t i = 0; i < streams_.size(); ++i) {
      const Stream& s = streams_[i];
      if (!s.direct || s.reg < 0) continue;
      bool constant = registers_[size_t(s.reg)].uniform;
      registers[s.reg] = base[i] + (constant ? 0 : row * inner * itemsize(s.type));
    }
    if (gathers) copy_rows(0, size_t(inputs_), true, row, rows);
    execute(registers, rows * inner);
    if (scatters) copy_rows(size_t(inputs_), streams_.size(), false, row, rows);
  }
}

void TileProgram::execute(char** at, int64_t n) const {
  for (const Instruction& i : instructions_) {
    const Register& out = registers_[size_t(i.out)];
    int64_t length = out.uniform ? 1 : n;
    if (i.convert) {
      int64_t from = i.step[0] * registers_[size_t(i.in[0])].size;
      i.convert(length, at[i.out], out.size, at[i.in[0]], from);
      continue;
    }
    const void* in[kMaxInputs];
    for (int k = 0; k < i.count; ++k) in[k] = at[i.in[k]];
    const double* params = i.params < 0 ? nullptr : params_[size_t(i.params)].values;
    i.loop(length, at[i.out], in, i.step, params);
  }
}

}  // namespace scriptlang
