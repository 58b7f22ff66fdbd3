// The zip writer: writes local headers with padding, the directory, and zip64 fields for large
// sizes.
#include "zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "values/error.h"

namespace scriptlang {

namespace {

constexpr uint64_t kAlignment = 64, kMost32 = 0xffffffff, kMost16 = 0xffff;
constexpr uint16_t kUtf8Names = 1 << 11, kPlain = 20, kZip64 = 45;
constexpr uint16_t kFirstDay = 1 << 5 | 1;  // 1 January 1980

// Appends a number of type N, in little endian.
template <class N>
void add(std::string* to, uint64_t number) {
  N value = N(number);
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t crc_of(std::string_view contents) {
  uLong crc = crc32(0, nullptr, 0);
  while (!contents.empty()) {
    size_t n = std::min<size_t>(contents.size(), 1 << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(contents.data()), uInt(n));
    contents.remove_prefix(n);
  }
  return uint32_t(crc);
}

// The extra field that moves the data from offset `end` to the next multiple of kAlignment. As in
// PyTorch's archives, it is "FB", a length and Z's.
std::string padding(uint64_t end) {
  uint64_t gap = (kAlignment - end % kAlignment) % kAlignment;
  if (gap == 0) return "";
  if (gap < 4) gap += kAlignment;
  std::string field = "FB";
  add<uint16_t>(&field, gap - 4);
  return field.append(size_t(gap - 4), 'Z');
}

// The zip64 field, for numbers that do not fit 32 bits. The header has kMost32 in their place.
std::string wide_field(std::initializer_list<uint64_t> numbers) {
  std::string wide;
  for (uint64_t number : numbers) add<uint64_t>(&wide, number);
  if (wide.empty()) return wide;
  std::string field;
  add<uint16_t>(&field, 1);
  add<uint16_t>(&field, wide.size());
  return field + wide;
}

// Appends what the local header and the entry of the directory have in common, from the version on.
void add_header(std::string* to, uint16_t version, uint32_t crc, uint64_t size, size_t name,
                size_t extra) {
  add<uint16_t>(to, version);
  add<uint16_t>(to, kUtf8Names);
  add<uint16_t>(to, 0);  // stored
  add<uint16_t>(to, 0);  // midnight
  add<uint16_t>(to, kFirstDay);
  add<uint32_t>(to, crc);
  add<uint32_t>(to, std::min(size, kMost32));
  add<uint32_t>(to, std::min(size, kMost32));
  add<uint16_t>(to, name);
  add<uint16_t>(to, extra);
}

}  // namespace

void ZipWriter::put(const std::string& bytes) {
  write_(bytes.data(), bytes.size());
  at_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::string_view contents) {
  if (name.size() > kMost16) raise(ErrorKind::RuntimeError, "the name of a record is too long");
  if (!names_.insert(name).second) {
    raise(ErrorKind::RuntimeError, "two records have the name '", name, "'");
  }
  const uint64_t size = contents.size(), offset = at_;
  const uint32_t crc = crc_of(contents);
  const bool wide = size >= kMost32;
  std::string extra = wide ? wide_field({size, size}) : "";
  extra += padding(offset + 30 + name.size() + extra.size());
  std::string local = "PK\3\4";
  add_header(&local, wide ? kZip64 : kPlain, crc, size, name.size(), extra.size());
  put(local + name + extra);
  write_(contents.data(), contents.size());
  at_ += size;

  const bool far = offset >= kMost32;
  std::string large = wide && far ? wide_field({size, size, offset})
                      : wide      ? wide_field({size, size})
                      : far       ? wide_field({offset})
                                  : "";
  const uint16_t version = large.empty() ? kPlain : kZip64;
  directory_ += "PK\1\2";
  scriptlang::add<uint16_t>(&directory_, version);
  add_header(&directory_, version, crc, size, name.size(), large.size());
  directory_.append(10, '\0');  // no comment, the first disk, no attributes
  scriptlang::add<uint32_t>(&directory_, std::min(offset, kMost32));
  directory_ += name + large;
  ++count_;
}

void ZipWriter::finish() {
  const uint64_t start = at_, size = directory_.size();
  put(directory_);
  std::string end;
  if (count_ >= kMost16 || start >= kMost32 || size >= kMost32) {
    const uint64_t end64 = at_;
    end += "PK\6\6";
    scriptlang::add<uint64_t>(&end, 44);  // of what follows
    scriptlang::add<uint16_t>(&end, kZip64);
    scriptlang::add<uint16_t>(&end, kZip64);
    scriptlang::add<uint64_t>(&end, 0);  // the first disk, twice
    for (uint64_t number : {count_, count_, size, start}) scriptlang::add<uint64_t>(&end, number);
    end += "PK\6\7";
    scriptlang::add<uint32_t>(&end, 0);
    scriptlang::add<uint64_t>(&end, end64);
    scriptlang::add<uint32_t>(&end, 1);
  }
  end += "PK\5\6";
  scriptlang::add<uint32_t>(&end, 0);
  scriptlang::add<uint16_t>(&end, std::min(count_, kMost16));
  scriptlang::add<uint16_t>(&end, std::min(count_, kMost16));
  scriptlang::add<uint32_t>(&end, std::min(size, kMost32));
  scriptlang::add<uint32_t>(&end, std::min(start, kMost32));
  scriptlang::add<uint16_t>(&end, 0);
  put(end);
}

}  // namespace scriptlang
