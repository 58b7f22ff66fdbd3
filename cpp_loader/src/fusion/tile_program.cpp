// Compiles recorded pointwise steps into a tile program, and runs it.
#include "tile_program.h"

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace scriptlang {

namespace {

constexpr int64_t kCacheBytes = 32 << 10;  // of the first-level cache, for tiles
constexpr int64_t kShortRow = 256;         // elements; a tile holds several rows that are shorter
constexpr int64_t kParallelWork = 65536;   // instructions times elements that are worth a thread

}  // namespace

using Extent = TileCode::Extent;
using Instruction = TileCode::Instruction;

// ---- from steps to instructions

bool TileProgram::compile(const Recording& recording, const std::vector<int>& steps,
                          const std::vector<int>& inputs, const std::vector<int>& outputs) {
  if (inputs.size() + outputs.size() > kMaxStreams) return false;
  set_geometry(recording, inputs, outputs);
  TileCompiler compiler(&code_, recording);
  for (size_t i = 0; i < streams_.size(); ++i) {
    Stream& s = streams_[i];
    bool in_row = !packs_rows_ && s.strides[0] == itemsize(s.type);
    if (i < inputs.size()) {
      bool one = is_constant(s) || (!packs_rows_ && s.strides[0] == 0);
      s.direct = one || in_row || is_dense(s);
      s.reg = compiler.add_input(inputs[i], int(i), one ? Extent::kOne : Extent::kFull, s.direct);
    } else {
      s.direct = in_row || is_dense(s);
      compiler.add_output(outputs[i - inputs.size()], int(i), Extent::kFull, s.direct);
    }
  }
  for (int index : steps) {
    if (!compiler.add_step(recording.steps()[size_t(index)]) || !compiler.fits()) return false;
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    streams_[inputs.size() + k].reg = compiler.register_of(outputs[k]);
  }
  compiler.join_pairs();
  compiler.place_buffers();
  settle_tile();
  return true;
}

void TileProgram::settle_tile() {
  int64_t bytes = std::max<int64_t>(1, code_.buffers) * code_.widest;
  for (const Stream& s : streams_) bytes += itemsize(s.type);
  tile_ = std::clamp<int64_t>(kCacheBytes / bytes, 128, 2048) & ~int64_t{63};
  if (packs_rows_) tile_ = std::max(tile_, sizes_[0]);
  buffer_bytes_ = (tile_ * code_.widest + kAlignment - 1) & ~int64_t(kAlignment - 1);
  int64_t count = int64_t(code_.instructions.size());
  grain_ = std::clamp<int64_t>(kParallelWork / std::max<int64_t>(count, 1), 4096, 32768);
}

std::unique_ptr<TileProgram> TileProgram::make(const Recording& recording,
                                               const std::vector<int>& steps,
                                               const std::vector<int>& inputs,
                                               const std::vector<int>& outputs) {
  std::unique_ptr<TileProgram> program(new TileProgram);
  if (!program->compile(recording, steps, inputs, outputs)) return nullptr;
  return program;
}

// ---- geometry

// Sorts the dimensions by the strides of the first output, and merges neighbours if possible.
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

// Whether the elements form one contiguous block in the order of the rows.
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
  return code_.is_read_before(in.reg, out.reg);
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

// Computes the offset of a row in each stream.
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

// Runs n elements of a row; `at` holds the address of each stream.
void TileProgram::run_tiles(char* const* at, int64_t n) const {
  kernels::Scratch scratch(uint64_t(code_.buffers * buffer_bytes_));
  char* registers[TileCode::kMaxRegisters];
  code_.place(scratch.as<char>(), buffer_bytes_, registers);
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

// Runs rows [begin, end), several per tile. Streams with uneven strides are gathered and scattered.
void TileProgram::run_rows(char* const* base, int64_t begin, int64_t end) const {
  kernels::Scratch scratch(uint64_t(code_.buffers * buffer_bytes_));
  char* registers[TileCode::kMaxRegisters];
  code_.place(scratch.as<char>(), buffer_bytes_, registers);
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
      bool constant = code_.registers[size_t(s.reg)].is_one();
      registers[s.reg] = base[i] + (constant ? 0 : row * inner * itemsize(s.type));
    }
    if (gathers) copy_rows(0, size_t(inputs_), true, row, rows);
    execute(registers, rows * inner);
    if (scatters) copy_rows(size_t(inputs_), streams_.size(), false, row, rows);
  }
}

void TileProgram::execute(char** at, int64_t n) const {
  for (const Instruction& i : code_.instructions) {
    const void* in[kMaxInputs];
    for (int k = 0; k < i.count; ++k) in[k] = at[i.in[k]];
    code_.run(i, at[i.out], in, i.step, code_.registers[size_t(i.out)].is_one() ? 1 : n);
  }
}

}  // namespace scriptlang
