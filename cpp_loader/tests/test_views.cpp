// Views that are proven, and sizes that do not overflow.
#include <climits>

#include "harness.h"
#include "values/exact.h"
#include "values/raw_view.h"

using namespace scriptlang;

namespace {

template <class F>
bool refused(F f) {
  try {
    f();
  } catch (const Error& e) { return e.kind == ErrorKind::RuntimeError; }
  return false;
}

constexpr int64_t kMost = INT64_MAX, kHuge = int64_t{1} << 62;

}  // namespace

TEST(views_reach_no_further_than_their_memory) {
  Tensor t = Tensor::zeros({3, 3}, ScalarType::Float32);
  CHECK(t.as_strided({9}, {1}, 0).numel() == 9);
  CHECK(t.as_strided({3}, {4}, 0).numel() == 3);
  CHECK(refused([&] { t.as_strided({10}, {1}, 0); }));
  CHECK(refused([&] { t.as_strided({3}, {4}, 1); }));
  CHECK(refused([&] { t.as_strided({1}, {1}, 9); }));
  CHECK(refused([&] { t.as_strided({1}, {1}, -1); }));
  CHECK(refused([&] { t.as_strided({2}, {-1}, 1); }));
  CHECK(refused([&] { t.as_strided({-1}, {1}, 0); }));
  CHECK(refused([&] { t.as_strided({2, 2}, {1}, 0); }));
}

TEST(views_are_proven_without_overflow) {
  Tensor t = Tensor::zeros({3, 3}, ScalarType::Float32);
  CHECK(refused([&] { t.as_strided({5}, {kHuge}, 0); }));  // 4 * 2^62 is 0 in 64 bits
  CHECK(refused([&] { t.as_strided({3, 3}, {kHuge, kHuge}, 0); }));
  CHECK(refused([&] { t.as_strided({kHuge, 4}, {0, 0}, 0); }));
  CHECK(refused([&] { t.as_strided({1}, {1}, kMost); }));
  CHECK(refused([&] { t.as_strided({0, kHuge}, {1, 1}, 0); }));
  CHECK(refused([&] { Tensor::empty({0, kHuge}, ScalarType::Float32); }));
}

TEST(strides_that_are_not_walked_stay_small) {
  Tensor t = Tensor::zeros({3, 3}, ScalarType::Float32);
  CHECK(t.as_strided({1}, {kMost}, 0).stride(0) == 0);
  CHECK(t.as_strided({0}, {kMost}, 0).stride(0) == 0);
  CHECK(outer_stride(kMaxReach, 2) == 0 && outer_stride(3, 0) == 3 && outer_stride(3, 4) == 12);
}

TEST(tensors_are_laid_only_where_they_fit) {
  Tensor t = Tensor::zeros({2, 3}, ScalarType::Float32);
  lay(t, {1, 2});
  CHECK(t.stride(1) == 2);
  CHECK(refused([&] { lay(t, {1, 3}); }));
  CHECK(t.stride(1) == 2);
}

TEST(exact_numbers_raise_where_others_overflow) {
  CHECK(int64_t(Exact(3) * 4 + 1 - 2) == 11);
  CHECK(int64_t(2 + Exact(kHuge)) == kHuge + 2);
  CHECK(refused([] { (void)(Exact(kHuge) * 2); }));
  CHECK(refused([] { (void)(Exact(kMost) + 1); }));
  CHECK(refused([] { (void)(Exact(INT64_MIN) - 1); }));
  CHECK(refused([] { (void)(1 - Exact(INT64_MIN)); }));
}

int main(int count, char** arguments) { return test::main(count, arguments); }
