// A tile program: a fused program of pointwise loops whose results have one shape. It runs all
// loops on one tile of some hundred elements, then on the next, so that intermediate results stay
// in the first-level cache. It is compiled for one geometry of its inputs.
#pragma once

#include <memory>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

class TileProgram : public StreamProgram {
 public:
  // Compiles the steps with these indices, in order. The program reads `inputs` and writes
  // `outputs`. Returns null if it would be too large.
  static std::unique_ptr<TileProgram> make(const Recording& recording,
                                           const std::vector<int>& steps,
                                           const std::vector<int>& inputs,
                                           const std::vector<int>& outputs);

  void run(char* const* streams) const override;
  bool may_overwrite(int input, int output) const override;

 private:
  struct Stream {
    ScalarType type;
    int64_t strides[kMaxDims];  // in bytes, innermost first
    bool direct = false;        // the register points into the stream
    int reg = -1;
  };

  bool compile(const Recording& recording, const std::vector<int>& steps,
               const std::vector<int>& inputs, const std::vector<int>& outputs);
  void settle_tile();
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
  TileCode code_;
  int64_t ndim_ = 0, sizes_[kMaxDims];  // innermost first
  int64_t rows_ = 1;
  bool packs_rows_ = false;  // a tile holds several rows
  int64_t tile_ = 0, buffer_bytes_ = 0, grain_ = 0;
};

}  // namespace scriptlang
