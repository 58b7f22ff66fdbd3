// Sequences of calls of the C interface, read off bytes: handles are made, passed and released at
// random, all else is random, too. Handles are valid and memory is there; nothing else is.
#pragma once

#include <cstdint>
#include <cstddef>
#include <string>

namespace fuzz {

// Makes the calls that the bytes say, on the archive that tests/data/make_client.py wrote. Ends the
// process when a result contradicts scriptlang.h, or a block of memory is not given back once.
void run_calls(const uint8_t* data, size_t size, const std::string& archive);

}  // namespace fuzz
