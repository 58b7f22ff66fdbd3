// A row program: a fused program that contains functions of rows (sums, softmax). It processes
// whole rows, so that intermediate results stay in the first caches.
//
// The last dimensions of a shape are a row. Steps are of three kinds: on all elements, on one
// number for each row (the result of a sum, and what is computed from it), and functions of rows.
// Rows that are too long for the caches are processed in pieces; then no step on all elements can
// use the result of a sum.
#pragma once

#include <memory>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

// The shape that a row program works on.
struct RowShape {
  IntSpan sizes;
  int dims = 0;  // the last ones, that make a row

  int64_t outer_dims() const { return sizes.size - dims; }
  int64_t row_length() const;
  bool is_long() const;
  // Whether these are the sizes of one number for each row: with ones for the dimensions of the
  // row (`kept`), or without them (`dropped`).
  bool is_kept(IntSpan s) const;
  bool is_dropped(IntSpan s) const;
};

class RowProgram : public StreamProgram {
 public:
  // A program for these steps (indices, in order), which reads and writes these values. Null if
  // their geometry does not allow it.
  static std::unique_ptr<RowProgram> make(const Recording& recording, const std::vector<int>& steps,
                                          const std::vector<int>& inputs,
                                          const std::vector<int>& outputs, const RowShape& shape);

  void run(char* const* streams) const override;
  bool may_overwrite(int input, int output) const override;

 private:
  using Instruction = TileCode::Instruction;
  struct Stream {
    ScalarType type;
    int64_t inner = 0;        // stride inside a row, in bytes: 0 or the size of an element
    int64_t outer[kMaxDims];  // strides of the dimensions outside, innermost first
    int reg = -1;
  };
  // How an instruction runs on several rows.
  struct Way {
    bool at_once = false;           // all rows as one
    bool is_late = false;           // for long rows: after all pieces
    int64_t step[kMaxInputs] = {};  // inside a row
  };

  bool compile(const Recording& recording, const std::vector<int>& steps,
               const std::vector<int>& inputs, const std::vector<int>& outputs,
               const RowShape& shape);
  bool find_aligned(const Recording& recording, const std::vector<int>& steps,
                    const std::vector<int>& inputs, const RowShape& shape,
                    std::vector<bool>* dropped) const;
  bool set_geometry(const std::vector<const Tensor*>& tensors, const std::vector<bool>& dropped,
                    const RowShape& shape);
  TileCode::Extent extent_of(const Stream& s) const;
  bool settle_ways();
  void settle_tile();

  int64_t offset(const Stream& s, int64_t row) const;
  void point(char* const* streams, int64_t row, int64_t first, char** at) const;
  void execute(char* const* at, int64_t rows) const;
  void run_rows(const Instruction& i, const Way& way, char* const* at, int64_t rows,
                int64_t n) const;
  void run_pieces(char* const* streams) const;
  void run_piece(char* const* at, int64_t n, char* partials, int64_t task) const;
  void finish_row(char* const* at, const char* partials, int64_t row) const;

  TileCode code_;
  std::vector<Way> ways_;         // of instructions
  std::vector<int64_t> advance_;  // of registers: bytes to the next row's
  std::vector<Stream> streams_;   // inputs, then outputs
  int inputs_ = 0;
  int64_t n_ = 1, rows_ = 1;
  int64_t ndim_ = 1, sizes_[kMaxDims] = {1};  // outside rows, innermost first
  bool in_pieces_ = false;
  int reductions_ = 0;
  int64_t tile_rows_ = 1, buffer_bytes_ = 0, grain_ = 1;
};

}  // namespace scriptlang
