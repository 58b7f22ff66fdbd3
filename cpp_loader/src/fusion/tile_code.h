// The instructions of tile and row programs.
//
// An instruction is a loop of kernels/loops.h, a conversion or a row function. Its operands are
// registers. A register is an input or output (if its strides are even), a buffer of one tile, or a
// single number (a cell).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ops/recording.h"

namespace scriptlang {

struct TileCode {
  static constexpr int kMaxRegisters = 160;

  // The elements of a register: one for all, one per row of the tile, one row that all rows share,
  // or one per element of the tile.
  enum class Extent : uint8_t { kOne, kPerRow, kColumns, kFull };
  enum class Place : uint8_t { kStream, kBuffer, kCell };
  struct Register {
    Place place = Place::kBuffer;
    int at = 0;  // stream, buffer or cell
    Extent extent = Extent::kFull;
    int64_t size = 0;  // element size in bytes

    bool is_one() const { return extent == Extent::kOne; }
  };
  struct Instruction {
    kernels::Loop loop = nullptr;
    kernels::Convert convert = nullptr;
    const RowFunction* row = nullptr;
    int out = 0, count = 0, params = -1;
    int in[kMaxInputs] = {};  // -1: an input of a row function that is omitted
    int64_t step[kMaxInputs] = {};
  };
  struct alignas(16) Cell {
    char bytes[16];
  };
  struct Params {
    double values[kernels::kParams];
  };

  const double* params_of(const Instruction& i) const {
    return i.params < 0 ? nullptr : params[size_t(i.params)].values;
  }
  // Writes the addresses of buffers and cells into `at`.
  void place(char* buffers, int64_t buffer_bytes, char** at) const;
  // Runs an instruction other than a row function on n elements of its operands.
  void run(const Instruction& i, void* out, const void* const* in, const int64_t* step,
           int64_t n) const;

  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Cell> cells;
  std::vector<Params> params;
  int buffers = 0;
  int64_t widest = 1;  // size of the largest element in a buffer, in bytes

  // Whether no instruction reads register `read` after one has written register `written`.
  bool is_read_before(int read, int written) const;
};

// A program that reads and writes streams: the elements of tensors, inputs first, then outputs. It
// is compiled for one geometry of its inputs.
class StreamProgram {
 public:
  static constexpr int kMaxStreams = 24;

  virtual ~StreamProgram() = default;
  // Runs on streams that begin at these addresses. Raises the errors of the loops.
  virtual void run(char* const* streams) const = 0;
  // Whether an output may be written into the memory of an input of the same geometry, because no
  // instruction reads the input after the output is written.
  virtual bool may_overwrite(int input, int output) const = 0;
};

// Compiles recorded steps to tile code. Streams are numbered by the caller: inputs first, then
// outputs.
class TileCompiler {
 public:
  TileCompiler(TileCode* code, const Recording& recording) : c_(*code), recording_(recording) {}

  // Returns the register of an input stream. If `direct`, the register points into the stream;
  // otherwise it is a buffer, which the caller fills.
  int add_input(int value, int stream, TileCode::Extent extent, bool direct);
  // Declares that a value, which a later step computes, is written to a stream.
  void add_output(int value, int stream, TileCode::Extent extent, bool direct) {
    outputs_[value] = {stream, extent, direct};
  }

  // Compiles a step. Returns false if a row function would get an operand that is not a whole row.
  bool add_step(const RecordedStep& step);
  // Merges an operator with the only reader of its result if one loop can compute both.
  void join_pairs();
  // Assigns buffers to registers; each is occupied from the first write to the last read.
  void place_buffers();

  int register_of(int value) const;  // of the value's own type; -1 if none
  bool fits() const { return c_.registers.size() <= size_t(TileCode::kMaxRegisters); }

 private:
  struct Output {
    int stream;
    TileCode::Extent extent;
    bool direct;
  };
  ScalarType type_of(int value) const { return recording_.values()[size_t(value)].dtype(); }
  int add_register(TileCode::Place place, int at, TileCode::Extent extent, ScalarType type);
  int number(const Scalar& n, ScalarType type);
  int operand(int value, ScalarType type);
  int result(int value, TileCode::Extent extent);
  void convert(int from, ScalarType from_type, int to, ScalarType to_type);

  TileCode& c_;
  const Recording& recording_;
  std::map<std::pair<int, ScalarType>, int> known_;  // (value, element type) -> register
  std::map<int, Output> outputs_;
  std::vector<int> kept_;  // buffers that the caller fills or empties
};

}  // namespace scriptlang
