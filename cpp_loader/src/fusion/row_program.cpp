// Compiles recorded steps into a row program, and runs it.
#include "row_program.h"

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace scriptlang {

using Extent = TileCode::Extent;
using Register = TileCode::Register;

namespace {

constexpr int64_t kCacheBytes = 32 << 10;  // of the first-level cache, for tiles
constexpr int64_t kLongRow = 16384;        // elements; longer rows are processed in pieces
constexpr int64_t kParallelWork = 65536;   // instructions times elements that are worth a thread
constexpr int64_t kPiecesPerTask = 4;
constexpr int64_t kPartialBytes = 8;  // size of the largest element that a row function returns

}  // namespace

int64_t RowShape::row_length() const {
  int64_t n = 1;
  for (int64_t d = outer_dims(); d < sizes.size; ++d) n *= sizes[d];
  return n;
}

bool RowShape::is_long() const { return row_length() > kLongRow; }

bool RowShape::is_kept(IntSpan s) const {
  if (s.size != sizes.size) return false;
  for (int64_t d = 0; d < s.size; ++d) {
    if (s[d] != (d < outer_dims() ? sizes[d] : 1)) return false;
  }
  return true;
}

bool RowShape::is_dropped(IntSpan s) const {
  return s.size == outer_dims() && std::equal(s.begin(), s.end(), sizes.begin());
}

// ---- from steps to instructions

std::unique_ptr<RowProgram> RowProgram::make(const Recording& recording,
                                             const std::vector<int>& steps,
                                             const std::vector<int>& inputs,
                                             const std::vector<int>& outputs,
                                             const RowShape& shape) {
  std::unique_ptr<RowProgram> program(new RowProgram);
  if (!program->compile(recording, steps, inputs, outputs, shape)) return nullptr;
  return program;
}

bool RowProgram::compile(const Recording& recording, const std::vector<int>& steps,
                         const std::vector<int>& inputs, const std::vector<int>& outputs,
                         const RowShape& shape) {
  if (inputs.size() + outputs.size() > kMaxStreams) return false;
  std::vector<bool> dropped(inputs.size());
  if (!find_aligned(recording, steps, inputs, shape, &dropped)) return false;
  std::vector<const Tensor*> tensors;
  for (int v : inputs) tensors.push_back(&recording.values()[size_t(v)]);
  for (int v : outputs) {
    tensors.push_back(&recording.values()[size_t(v)]);
    dropped.push_back(shape.is_dropped(tensors.back()->sizes()));
  }
  inputs_ = int(inputs.size());
  if (!set_geometry(tensors, dropped, shape)) return false;
  TileCompiler compiler(&code_, recording);
  for (size_t i = 0; i < inputs.size(); ++i) {
    streams_[i].reg = compiler.add_input(inputs[i], int(i), extent_of(streams_[i]), true);
  }
  for (size_t i = inputs.size(); i < tensors.size(); ++i) {
    bool full = tensors[i]->sizes() == shape.sizes;
    if (full && streams_[i].inner == 0) return false;
    compiler.add_output(outputs[i - inputs.size()], int(i), full ? Extent::kFull : Extent::kPerRow,
                        true);
  }
  for (int index : steps) {
    if (!compiler.add_step(recording.steps()[size_t(index)]) || !compiler.fits()) return false;
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    streams_[inputs.size() + k].reg = compiler.register_of(outputs[k]);
  }
  compiler.join_pairs();
  compiler.place_buffers();
  if (!settle_ways()) return false;
  settle_tile();
  return true;
}

// Finds the inputs that are read by steps on one number per row without the row's dimensions: their
// sizes are aligned with the outer dimensions. Returns false if an input is read both ways.
bool RowProgram::find_aligned(const Recording& recording, const std::vector<int>& steps,
                              const std::vector<int>& inputs, const RowShape& shape,
                              std::vector<bool>* dropped) const {
  std::vector<int> seen(inputs.size(), -1);
  for (int index : steps) {
    const RecordedStep& step = recording.steps()[size_t(index)];
    int here = !step.row && shape.is_dropped(recording.values()[size_t(step.result)].sizes());
    for (int k = 0; k < step.count; ++k) {
      auto found = std::find(inputs.begin(), inputs.end(), step.in[k].value);
      if (found == inputs.end()) continue;
      size_t i = size_t(found - inputs.begin());
      bool one = recording.values()[size_t(*found)].numel() == 1;
      if (seen[i] >= 0 && seen[i] != here && !one) return false;
      seen[i] = here;
      (*dropped)[i] = here;
    }
  }
  return true;
}

// Sets rows and strides. Returns false if the elements of a row are neither contiguous nor all the
// same.
bool RowProgram::set_geometry(const std::vector<const Tensor*>& tensors,
                              const std::vector<bool>& dropped, const RowShape& shape) {
  n_ = shape.row_length();
  in_pieces_ = shape.is_long();
  int64_t outer = shape.outer_dims(), total = shape.sizes.size;
  streams_.resize(tensors.size());
  auto stride = [&](size_t i, int64_t d) {
    const Tensor& t = *tensors[i];
    int64_t own = d - ((dropped[i] ? outer : total) - t.dim());
    return own < 0 || own >= t.dim() || t.size(own) == 1 ? 0 : t.stride(own) * t.itemsize();
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    Stream& s = streams_[i];
    s.type = tensors[i]->dtype();
    int64_t apart = 1;
    bool first = true;
    for (int64_t d = total - 1; d >= outer && !dropped[i]; --d) {
      if (shape.sizes[d] == 1) continue;
      if (first) s.inner = stride(i, d);
      first = false;
      if (stride(i, d) != s.inner * apart) return false;
      apart *= shape.sizes[d];
    }
    if (s.inner != 0 && s.inner != itemsize(s.type)) return false;
  }
  ndim_ = 0;
  for (int64_t d = outer - 1; d >= 0; --d) {
    int64_t size = shape.sizes[d];
    if (size == 1) continue;
    bool merges = ndim_ > 0;
    for (size_t i = 0; merges && i < tensors.size(); ++i) {
      merges = stride(i, d) == streams_[i].outer[ndim_ - 1] * sizes_[ndim_ - 1];
    }
    rows_ *= size;
    if (merges) {
      sizes_[ndim_ - 1] *= size;
      continue;
    }
    sizes_[ndim_] = size;
    for (size_t i = 0; i < tensors.size(); ++i) streams_[i].outer[ndim_] = stride(i, d);
    ++ndim_;
  }
  if (ndim_ == 0) {
    ndim_ = sizes_[0] = 1;
    for (Stream& s : streams_) s.outer[0] = 0;
  }
  return true;
}

TileCode::Extent RowProgram::extent_of(const Stream& s) const {
  bool same = std::all_of(s.outer, s.outer + ndim_, [](int64_t stride) { return stride == 0; });
  if (s.inner == 0) return same ? Extent::kOne : Extent::kPerRow;
  return same ? Extent::kColumns : Extent::kFull;
}

// Decides how each instruction processes rows. Returns false if rows are long and an instruction on
// all elements needs the result of a sum over them.
bool RowProgram::settle_ways() {
  const std::vector<Register>& registers = code_.registers;
  std::vector<bool> flat(registers.size());
  for (size_t r = 0; r < registers.size(); ++r) {
    const Register& reg = registers[r];
    int64_t apart = reg.extent == Extent::kFull     ? n_ * reg.size
                    : reg.extent == Extent::kPerRow ? reg.size
                                                    : 0;
    bool is_stream = reg.place == TileCode::Place::kStream;
    advance_.push_back(is_stream ? streams_[size_t(reg.at)].outer[0] : apart);
    flat[r] = reg.is_one() || (reg.extent != Extent::kColumns && advance_[r] == apart);
  }
  std::vector<bool> late(registers.size());  // known only after all pieces have run
  for (const Instruction& i : code_.instructions) {
    const Register& out = registers[size_t(i.out)];
    Way way;
    way.at_once = flat[size_t(i.out)];
    bool is_late = i.row != nullptr;
    for (int k = 0; k < i.count; ++k) {
      if (i.in[k] < 0) continue;
      const Register& in = registers[size_t(i.in[k])];
      way.step[k] = in.extent == Extent::kFull || in.extent == Extent::kColumns;
      way.at_once =
          way.at_once && flat[size_t(i.in[k])] && (in.is_one() || in.extent == out.extent);
      if (in_pieces_ && i.row && late[size_t(i.in[k])]) return false;
      is_late = is_late || late[size_t(i.in[k])];
    }
    if (in_pieces_ && i.row && i.row->piece == nullptr) return false;
    bool per_row = out.extent == Extent::kPerRow;
    if (in_pieces_ && is_late && !per_row) return false;
    if (in_pieces_ && per_row && !is_late && out.place == TileCode::Place::kStream) return false;
    late[size_t(i.out)] = is_late;
    way.is_late = is_late;
    reductions_ += i.row != nullptr && i.row->reduces;
    ways_.push_back(way);
  }
  return true;
}

void RowProgram::settle_tile() {
  int64_t bytes = std::max<int64_t>(1, code_.buffers) * code_.widest;
  for (const Stream& s : streams_) bytes += s.inner;
  int64_t n = in_pieces_ ? kRowPiece : n_;
  tile_rows_ = in_pieces_ ? 1 : std::clamp<int64_t>(kCacheBytes / (bytes * n), 1, sizes_[0]);
  buffer_bytes_ = (tile_rows_ * n * code_.widest + kAlignment - 1) & ~int64_t(kAlignment - 1);
  int64_t count = int64_t(code_.instructions.size());
  grain_ = std::clamp<int64_t>(kParallelWork / std::max<int64_t>(count, 1), 4096, 32768);
  grain_ = std::max<int64_t>(1, grain_ / n);
}

bool RowProgram::may_overwrite(int input, int output) const {
  const Stream &in = streams_[size_t(input)], &out = streams_[size_t(inputs_ + output)];
  bool alike = in.type == out.type && in.inner == out.inner &&
               std::equal(in.outer, in.outer + ndim_, out.outer);
  return alike && code_.is_read_before(in.reg, out.reg);
}

// ---- running

int64_t RowProgram::offset(const Stream& s, int64_t row) const {
  if (ndim_ == 1) return row * s.outer[0];
  int64_t sum = 0;
  for (int64_t d = 0; d < ndim_; ++d) {
    sum += row % sizes_[d] * s.outer[d];
    row /= sizes_[d];
  }
  return sum;
}

// Sets the addresses of streams, beginning at an element of a row.
void RowProgram::point(char* const* streams, int64_t row, int64_t first, char** at) const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Stream& s = streams_[i];
    if (s.reg >= 0) at[s.reg] = streams[i] + offset(s, row) + first * s.inner;
  }
}

void RowProgram::run(char* const* streams) const {
  if (in_pieces_) return run_pieces(streams);
  kernels::parallel_for(rows_, grain_, [&](int64_t begin, int64_t end) {
    kernels::Scratch scratch(uint64_t(code_.buffers * buffer_bytes_));
    char* at[TileCode::kMaxRegisters];
    code_.place(scratch.as<char>(), buffer_bytes_, at);
    for (int64_t row = begin; row < end;) {
      int64_t rows = std::min({tile_rows_, sizes_[0] - row % sizes_[0], end - row});
      point(streams, row, 0, at);
      execute(at, rows);
      row += rows;
    }
  });
}

void RowProgram::execute(char* const* at, int64_t rows) const {
  for (size_t k = 0; k < code_.instructions.size(); ++k) {
    const Instruction& i = code_.instructions[k];
    switch (code_.registers[size_t(i.out)].extent) {
      case Extent::kOne: run_rows(i, ways_[k], at, 1, 1); break;
      case Extent::kColumns: run_rows(i, ways_[k], at, 1, n_); break;
      case Extent::kPerRow: run_rows(i, ways_[k], at, rows, i.row ? n_ : 1); break;
      case Extent::kFull: run_rows(i, ways_[k], at, rows, n_); break;
    }
  }
}

void RowProgram::run_rows(const Instruction& i, const Way& way, char* const* at, int64_t rows,
                          int64_t n) const {
  const void* in[kMaxInputs];
  char* out = at[i.out];
  for (int k = 0; k < i.count; ++k) in[k] = i.in[k] < 0 ? nullptr : at[i.in[k]];
  if (way.at_once && !i.row) {
    code_.run(i, out, in, i.step, rows * n);
    return;
  }
  for (int64_t r = 0;;) {
    if (i.row) i.row->run(n, out, in, code_.params_of(i));
    else code_.run(i, out, in, way.step, n);
    if (++r == rows) return;
    out += advance_[size_t(i.out)];
    for (int k = 0; k < i.count; ++k) {
      if (in[k]) in[k] = static_cast<const char*>(in[k]) + advance_[size_t(i.in[k])];
    }
  }
}

// Runs long rows. Pieces run in any order; their partial results are then combined row by row.
void RowProgram::run_pieces(char* const* streams) const {
  int64_t pieces = row::pieces(n_), tasks = rows_ * pieces;
  kernels::Scratch kept(uint64_t(reductions_ * tasks * kPartialBytes));
  char* partials = kept.as<char>();
  kernels::parallel_for(tasks, kPiecesPerTask, [&](int64_t begin, int64_t end) {
    kernels::Scratch scratch(uint64_t(code_.buffers * buffer_bytes_));
    char* at[TileCode::kMaxRegisters];
    code_.place(scratch.as<char>(), buffer_bytes_, at);
    for (int64_t task = begin; task < end; ++task) {
      int64_t first = task % pieces * kRowPiece;
      point(streams, task / pieces, first, at);
      run_piece(at, std::min(kRowPiece, n_ - first), partials, task);
    }
  });
  kernels::Scratch scratch(uint64_t(code_.buffers * buffer_bytes_));
  char* at[TileCode::kMaxRegisters];
  code_.place(scratch.as<char>(), buffer_bytes_, at);
  for (int64_t row = 0; row < rows_; ++row) {
    point(streams, row, 0, at);
    finish_row(at, partials, row);
  }
}

// The array of partial results is ordered by reduction, then by task.
void RowProgram::run_piece(char* const* at, int64_t n, char* partials, int64_t task) const {
  int64_t tasks = rows_ * row::pieces(n_);
  for (size_t k = 0; k < code_.instructions.size(); ++k) {
    const Instruction& i = code_.instructions[k];
    const Register& out = code_.registers[size_t(i.out)];
    if (i.row) {
      const void* in[kMaxInputs] = {at[i.in[0]]};
      i.row->piece(n, partials + task * out.size, in, code_.params_of(i));
      partials += tasks * kPartialBytes;
    } else if (!ways_[k].is_late) {
      bool one = out.is_one() || out.extent == Extent::kPerRow;
      run_rows(i, ways_[k], at, 1, one ? 1 : n);
    }
  }
}

void RowProgram::finish_row(char* const* at, const char* partials, int64_t row) const {
  int64_t pieces = row::pieces(n_), tasks = rows_ * pieces;
  for (size_t k = 0; k < code_.instructions.size(); ++k) {
    const Instruction& i = code_.instructions[k];
    const Register& out = code_.registers[size_t(i.out)];
    if (i.row) {
      i.row->join(n_, at[i.out], partials + row * pieces * out.size, code_.params_of(i));
      partials += tasks * kPartialBytes;
    } else if (out.is_one() || out.extent == Extent::kPerRow) {
      run_rows(i, ways_[k], at, 1, 1);
    }
  }
}

}  // namespace scriptlang
