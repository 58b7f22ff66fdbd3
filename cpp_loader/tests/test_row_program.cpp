// Plans of fused groups: what becomes one program, and what its rows and pieces give.
#include <cmath>
#include <vector>

#include "fusion/fused_plan.h"
#include "harness.h"
#include "ops/express.h"
#include "ops/reduce.h"
#include "fusion/row_program.h"

using namespace scriptlang;

namespace {

Tensor mean_of_rows(const Tensor& t, bool keepdim) {
  return record_reduction(t, {t.dim() - 1}, keepdim, ScalarType::Float32, ScalarType::Float32,
                          &row::kMean<float>, {}, [](const Tensor*) { return Tensor(); });
}

FusedPlan plan_of(const Recording& r, int arguments, const std::vector<Tensor>& results) {
  FusedPlan plan;
  for (int i = 0; i < arguments; ++i) plan.tensors.push_back(i);
  for (const Tensor& t : results) plan.results.push_back(r.find(t));
  CHECK(make_parts(r, &plan));
  return plan;
}

// x / (1 + mean of x) of rows; the mean is a result, too.
void check_rows(int64_t rows, int64_t n) {
  Tensor x = Tensor::empty({rows, n}, ScalarType::Float32);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = float(i % 13) / 8;
  Recording recording;
  Tensor s = recording.input(x), mean = mean_of_rows(s, true);
  Tensor y = express::div(s, express::add(mean, Scalar(1.0)));
  FusedPlan plan = plan_of(recording, 1, {y, mean});
  // Of long rows, the elements are divided when all pieces are known.
  CHECK_EQ(plan.parts.size(), n > 16384 ? size_t(2) : size_t(1));
  CHECK(dynamic_cast<RowProgram*>(plan.parts[0].program.get()) != nullptr);
  Tensor out = Tensor::empty(x.sizes(), ScalarType::Float32);
  Tensor means = Tensor::empty({rows, 1}, ScalarType::Float32);
  std::vector<Tensor> made(recording.values().size());
  made[0] = x;
  for (FusedPlan::Part& part : plan.parts) {
    char* streams[StreamProgram::kMaxStreams];
    size_t at = 0;
    for (int v : part.inputs) streams[at++] = static_cast<char*>(made[size_t(v)].raw());
    for (int v : part.outputs) {
      const Tensor& like = recording.values()[size_t(v)];
      made[size_t(v)] = Tensor::empty(like.sizes(), like.dtype());
      streams[at++] = static_cast<char*>(made[size_t(v)].raw());
    }
    part.program->run(streams);
  }
  const float* got = made[size_t(recording.find(y))].data<float>();
  const float* averages = made[size_t(recording.find(mean))].data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    float wanted = Rows<float>::sum(n, x.data<float>() + r * n) / float(n);
    CHECK_EQ(averages[r], wanted);
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      if (got[i] == x.data<float>()[i] / (wanted + 1)) continue;
      return test::fail(__FILE__, __LINE__, concat("element ", i, " of ", rows, " rows of ", n));
    }
  }
}

}  // namespace

TEST(rows_short_and_long) {
  for (int64_t n : {2, 3, 17, 64, 768, 5000, 16384, 16385, 100000}) {
    for (int64_t rows : {1, 2, 9}) check_rows(rows, n);
  }
}

TEST(what_a_sum_gives_and_takes_is_one_part) {
  Recording recording;
  Tensor x = recording.input(Tensor::empty({4, 300}, ScalarType::Float32));
  Tensor dropped = mean_of_rows(express::mul(x, x), false);
  FusedPlan plan = plan_of(recording, 1, {express::exp(dropped)});
  CHECK_EQ(plan.parts.size(), size_t(1));
  CHECK_EQ(plan.made.size(), size_t(1));
}

TEST(a_result_without_the_row_does_not_meet_its_elements) {
  Recording recording;
  Tensor x = recording.input(Tensor::empty({300, 300}, ScalarType::Float32));
  Tensor dropped = mean_of_rows(express::mul(x, x), false);
  // It broadcasts along the other dimension.
  FusedPlan plan = plan_of(recording, 1, {express::add(express::exp(x), dropped)});
  CHECK_EQ(plan.parts.size(), size_t(2));
}

TEST(a_reduction_alone_stays_an_operator) {
  Recording recording;
  Tensor x = recording.input(Tensor::empty({4, 300}, ScalarType::Float32));
  FusedPlan plan = plan_of(recording, 1, {mean_of_rows(x, true)});
  CHECK_EQ(plan.parts.size(), size_t(1));
  CHECK(plan.parts[0].program == nullptr);
}

TEST(rows_that_do_not_lie_side_by_side_are_left_to_the_operator) {
  Recording recording;
  Tensor turned = Tensor::empty({300, 4}, ScalarType::Float32).as_strided({4, 300}, {1, 4}, 0);
  Tensor x = recording.input(turned);
  Tensor mean = mean_of_rows(express::mul(x, x), true);
  FusedPlan plan = plan_of(recording, 1, {express::mul(x, mean)});
  CHECK_EQ(plan.parts.size(), size_t(3));
  CHECK(plan.parts[1].program == nullptr);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
