// Random sequences of calls of the C interface: what fuzz_capi does for minutes, for seconds.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "../fuzz/calls.h"

int main(int count, char** arguments) {
  int rounds = count > 1 ? std::atoi(arguments[1]) : 3000;
  unsigned seed = count > 2 ? unsigned(std::atoi(arguments[2])) : 1;
  std::ifstream file(SCRIPTLANG_TEST_DATA "/client.pt", std::ios::binary);
  const std::string archive(std::istreambuf_iterator<char>(file), {});
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bytes(200 + random() % 800);
    for (uint8_t& b : bytes) b = uint8_t(random());
    fuzz::run_calls(bytes.data(), bytes.size(), archive);
  }
  std::printf("%d sequences\n", rounds);
}
