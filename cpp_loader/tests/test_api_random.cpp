// Random sequences of calls of the C interface: what fuzz_capi does for minutes, for seconds.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "../fuzz/calls.h"

int main(int count, char** arguments) {
  int rounds = count > 1 ? std::atoi(arguments[1]) : 3000;
  unsigned seed = count > 2 ? unsigned(std::atoi(arguments[2])) : 1;
  std::string archives[2];
  for (int k = 0; k < 2; ++k) {
    const char* name = k ? "/client_plain.pt" : "/client.pt";
    std::ifstream file(std::string(SCRIPTLANG_TEST_DATA) + name, std::ios::binary);
    archives[k].assign(std::istreambuf_iterator<char>(file), {});
  }
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bytes(200 + random() % 800);
    for (uint8_t& b : bytes) b = uint8_t(random());
    fuzz::run_calls(bytes.data(), bytes.size(), archives[round % 2]);
  }
  std::printf("%d sequences\n", rounds);
}
