// Input: a zip file. Every record is read and opened as a storage.
#include "archive/zip.h"

using namespace scriptlang;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    ZipLimits limits;
    limits.max_record_bytes = 1 << 24;
    auto zip = ZipArchive::open(Bytes::copy(data, size), limits);
    for (const auto& record : zip->records()) {
      std::string buffer;
      zip->read(record, &buffer);
      zip->storage(record, 8)->release();
    }
  } catch (const Error&) {}
  return 0;
}
