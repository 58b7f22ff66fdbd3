// A row program: a fused program that contains row functions (sums, softmax). It processes whole
// rows, so that intermediate results stay in the first-level caches.
//
// The last dimensions of a shape form a row. There are three kinds of steps: on all elements, on
// one number per row (the result of a sum, and what is computed from it), and row functions. Rows
// that are too long for the caches are processed in pieces; then a step on all elements cannot use
// the result of a sum.
#pragma once

#include <memory>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

// The shape that a row program works on.
struct RowShape {
  IntSpan sizes;
  int dims = 0;  // number of last dimensions that form a row

  int64_t outer_dims() const { return sizes.size - dims; }
  int64_t row_length() const;
  bool is_long() const;
  // Whether these are the sizes of a tensor with one number per row: with the dimensions of the row
  // as ones (`is_kept`) or without them (`is_dropped`).
  bool is_kept(IntSpan s) const;
  bool is_dropped(IntSpan s) const;
};

class RowProgram : public StreamProgram {
 public:
  // Compiles the steps with these indices, in order. The program reads `inputs` and writes
  // `outputs`. Returns null if their geometry does not allow it.
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
    int64_t outer[kMaxDims];  // in bytes, of the dimensions outside rows, innermost first
    int reg = -1;
  };
  // How an instruction processes several rows.
  struct Way {
    bool at_once = false;           // one call for all rows
    bool is_late = false;           // long rows only: runs after all pieces
    int64_t step[kMaxInputs] = {};  // of the inputs, inside a row
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
  std::vector<Way> ways_;         // one per instruction
  std::vector<int64_t> advance_;  // per register: bytes from one row to the next
  std::vector<Stream> streams_;   // inputs, then outputs
  int inputs_ = 0;
  int64_t n_ = 1, rows_ = 1;
  int64_t ndim_ = 1, sizes_[kMaxDims] = {1};  // outside rows, innermost first
  bool in_pieces_ = false;
  int reductions_ = 0;
  int64_t tile_rows_ = 1, buffer_bytes_ = 0, grain_ = 1;
};

}  // namespace scriptlang
