// Trains a network further that Python began to train, without Python.
//
//   python examples/train_digits.py --epochs 2
//   python examples/train_digits.py --data digits.bin
//   train_digits digits.pt digits.bin 3
//
// The archive holds the whole step: forward, loss, gradients and update, with the state of the
// optimiser. After each epoch it is saved, and Python, this program or PyTorch go on from there.
#include <scriptlang/scriptlang.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

constexpr size_t kPixels = 64, kBatch = 64, kTrained = 1437;

struct Digits {
  std::vector<float> images;
  std::vector<int64_t> labels;
};

// What `train_digits.py --data` writes: the pixels of all images, then their labels.
static Digits read_digits(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kEach = kPixels * sizeof(float) + sizeof(int64_t);
  const size_t count = bytes.size() / kEach;
  if (bytes.size() % kEach || count <= kTrained) {
    throw std::runtime_error(path + " is not what train_digits.py --data writes");
  }
  Digits digits{std::vector<float>(count * kPixels), std::vector<int64_t>(count)};
  const size_t of_images = digits.images.size() * sizeof(float);
  std::memcpy(digits.images.data(), bytes.data(), of_images);
  std::memcpy(digits.labels.data(), bytes.data() + of_images, count * sizeof(int64_t));
  return digits;
}

// One epoch in an order by chance; prints how it goes.
static void train(scriptlang::Module& step, const Digits& digits, int epoch) {
  std::vector<size_t> order(kTrained);
  std::iota(order.begin(), order.end(), size_t(0));
  std::shuffle(order.begin(), order.end(), std::mt19937(unsigned(epoch)));
  step.train();
  const auto start = std::chrono::steady_clock::now();
  std::vector<float> images;
  std::vector<int64_t> labels;
  double total = 0;
  for (size_t first = 0; first < kTrained; first += kBatch) {
    images.clear();
    labels.clear();
    for (size_t k = first; k < std::min(first + kBatch, kTrained); ++k) {
      const auto image = digits.images.begin() + std::ptrdiff_t(order[k] * kPixels);
      images.insert(images.end(), image, image + kPixels);
      labels.push_back(digits.labels[order[k]]);
    }
    const int64_t count = int64_t(labels.size());
    scriptlang::Tensor x = scriptlang::Tensor::view(images.data(), {count, 1, 8, 8});
    scriptlang::Tensor y = scriptlang::Tensor::view(labels.data(), {count});
    total += double(count) * step("step", {x, y}).tensor().data<float>()[0];
    const double done = double(first) + double(count);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("\repoch %3d  %4.0f/%zu  loss %.4f  %6.0f images/s", epoch + 1, done, kTrained,
                total / done, done / taken.count());
    std::fflush(stdout);
  }
}

static double accuracy(scriptlang::Module& step, Digits& digits) {
  step.eval();
  const size_t count = digits.labels.size() - kTrained;
  scriptlang::Tensor x = scriptlang::Tensor::view(digits.images.data() + kTrained * kPixels,
                                                  {int64_t(count), 1, 8, 8});
  scriptlang::Tensor scores = step("forward", {x}).tensor().contiguous();
  const float* row = scores.data<float>();
  size_t right = 0;
  for (size_t k = 0; k < count; ++k, row += 10) {
    right += std::max_element(row, row + 10) - row == digits.labels[kTrained + k];
  }
  return double(right) / double(count);
}

static void run(const std::string& archive, const std::string& data, int epochs) {
  scriptlang::Module step = scriptlang::load(archive);
  Digits digits = read_digits(data);
  int done = std::atoi(step.extra("epochs").c_str());
  for (const int last = done + epochs; done < last; ++done) {
    train(step, digits, done);
    std::printf("  %.1f%% of unseen digits right\n", 100 * accuracy(step, digits));
    step.save(archive, {{"epochs", std::to_string(done + 1)}});
  }
}

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: train_digits DIGITS.pt DIGITS.bin EPOCHS\n");
    return 2;
  }
  try {
    run(arguments[1], arguments[2], std::atoi(arguments[3]));
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n%s", e.class_name().c_str(), e.what(), e.stack().c_str());
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
