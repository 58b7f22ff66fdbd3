// What straight graphs of compiled archives ask of a call before they run.
#include <algorithm>
#include <utility>
#include <vector>

#include "op.h"
#include "pointwise.h"
#include "values/tensor.h"

namespace scriptlang {

namespace {

// The memory of a tensor: the addresses of its first byte, and behind its last.
struct Place {
  uintptr_t first, last;
  bool is_written;
};

Place place_of(const Tensor& t, bool is_written) {
  int64_t reach = 1;
  for (int64_t d = 0; d < t.dim(); ++d) reach += (t.size(d) - 1) * t.stride(d);
  const uintptr_t first = reinterpret_cast<uintptr_t>(t.raw());
  return {first, first + size_t(reach) * size_t(t.itemsize()), is_written};
}

// Adds the places of tensors that have elements.
void add_places(std::vector<Place>* places, const std::vector<Tensor>& tensors, bool is_written) {
  for (const Tensor& t : tensors) {
    if (t.numel() > 0) places->push_back(place_of(t, is_written));
  }
}

}  // namespace

// `expected` has for each tensor its dtype, rank and sizes; a negative number is a size that is not
// known, of at least 2, and the same wherever this number stands.
SL_OP(scriptlang_are_like) {
  const std::vector<Tensor> tensors = args.tensors(0);
  const Ints expected = args.ints(1);
  int64_t at = 0;
  const auto next = [&](int64_t if_none) {
    return at < expected.size() ? expected[at++] : if_none;
  };
  std::vector<std::pair<int64_t, int64_t>> sizes;  // of the negative numbers
  out[0] = false;
  for (const Tensor& t : tensors) {
    if (int64_t(t.dtype()) != next(-1) || t.dim() != next(-1)) return;
    for (int64_t n : t.sizes()) {
      const int64_t wanted = next(0);
      if (wanted >= 0) {
        if (n != wanted) return;
        continue;
      }
      const auto known = std::find_if(sizes.begin(), sizes.end(),
                                      [&](const auto& pair) { return pair.first == wanted; });
      if (n < 2 || (known != sizes.end() && known->second != n)) return;
      if (known == sizes.end()) sizes.push_back({wanted, n});
    }
  }
  out[0] = true;
}

SL_OP(scriptlang_are_equal) {
  out[0] = false;
  for (int i = 0; i + 1 < args.size(); i += 2) {
    if (args[i].tag() != args[i + 1].tag() || !equal(args[i], args[i + 1])) return;
  }
  out[0] = args.size() % 2 == 0;
}

SL_OP(scriptlang_are_apart) {
  const std::vector<Tensor> written = args.tensors(0);
  out[0] = false;
  if (std::any_of(written.begin(), written.end(), overlaps_itself)) return;
  std::vector<Place> places;
  add_places(&places, written, true);
  add_places(&places, args.tensors(1), false);
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.first < b.first; });
  uintptr_t end = 0, end_written = 0;  // of the places so far
  for (const Place& place : places) {
    if (place.first < end_written || (place.is_written && place.first < end)) return;
    end = std::max(end, place.last);
    if (place.is_written) end_written = std::max(end_written, place.last);
  }
  out[0] = true;
}

}  // namespace scriptlang
