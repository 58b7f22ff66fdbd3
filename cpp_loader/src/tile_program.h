// A tile program: the steps of a recording whose results have one shape, run together piece by
// piece, so that what lies between them stays in the first cache.
//
// An instruction is a loop of kernels/loops.h or a conversion, on a tile of some hundred elements;
// its operands are registers. A register is an input or output where that lies evenly in memory, a
// tile buffer, or one element that stands for all. A program fits one geometry of its inputs.
#pragma once

#include <memory>
#include <vector>

#include "ops/recording.h"

namespace scriptlang {

class TileProgram {
 public:
  static constexpr int kMaxStreams = 24;    // inputs and outputs
  static constexpr int kMaxRegisters = 160;

  // For the steps (indices, in order), reading and writing these values. Null when it would be
  // too large.
  static std::unique_ptr<TileProgram> make(const Recording& recording,
                                           const std::vector<int>& steps,
                                           const std::vector<int>& inputs,
                                           const std::vector<int>& outputs);

  // Where the elements of the inputs and outputs begin. May raise what a loop raises.
  void run(char* const* streams) const;

  // Whether an output may be written to the memory of an input of the same geometry: no
  // instruction reads the input after the output is written.
  bool may_overwrite(int input, int output) const;

 private:
  struct Stream {
    ScalarType type;
    int64_t strides[kMaxDims];  // in bytes, innermost first
    bool direct = false;        // its register points into it
    int reg = -1;
  };
  enum class Place : uint8_t { kStream, kBuffer, kCell };
  struct Register {
    Place place = Place::kBuffer;
    int at = 0;            // stream, buffer or cell
    bool uniform = false;  // one element for the whole tile
    int64_t size = 0;      // of an element
  };
  struct Instruction {
    kernels::Loop loop = nullptr;
    kernels::Convert convert = nullptr;
    int out = 0, count = 0, params = -1;
    int in[kMaxInputs] = {};
    int64_t step[kMaxInputs] = {};
  };
  struct alignas(16) Cell {
    char bytes[16];
  };
  struct Params {
    double values[kernels::kParams];
  };
  friend class TileCompiler;

  void set_geometry(const Recording& recording, const std::vector<int>& inputs,
                    const std::vector<int>& outputs);
  void run_tiles(char* const* at, int64_t n) const;
  void run_rows(char* const* base, int64_t begin, int64_t end) const;
  void execute(char** at, int64_t n) const;
  void offsets(int64_t row, int64_t* index, int64_t* offset) const;
  bool is_dense(const Stream& s) const;
  bool is_constant(const Stream& s) const;

  std::vector<Stream> streams_;  // inputs, then outputs
  int inputs_ = 0;
  std::vector<Register> registers_;
  std::vector<Instruction> instructions_;
  std::vector<Cell> cells_;
  std::vector<Params> params_;
  int64_t ndim_ = 0, sizes_[kMaxDims];  // innermost first
  int64_t rows_ = 1;
  bool packs_rows_ = false;  // a tile takes several rows
  int64_t tile_ = 0, buffer_bytes_ = 0, grain_ = 0;
  int buffers_ = 0;
};

}  // namespace scriptlang
