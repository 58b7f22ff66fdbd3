// Zip files: each attack is refused with a reason, and none reads outside the file.
#include "archives.h"
#include "harness.h"
#include "archive/files.h"
#include "archive/zip.h"

using namespace scriptlang;
using namespace test;

static std::shared_ptr<ZipArchive> open(const std::string& file) {
  return ZipArchive::open(Bytes::copy(file.data(), file.size()));
}

TEST(stored_and_deflated_records_are_read) {
  std::string text(10000, 'x');
  auto zip = open(make_zip({{"m/a", "hello"}, {"m/b", text, true}}));
  std::string buffer;
  CHECK_EQ(zip->read(*zip->find("m/a"), &buffer), "hello");
  CHECK_EQ(zip->read(*zip->find("m/b"), &buffer), text);
  CHECK(zip->find("m/c") == nullptr);
}

TEST(an_aligned_stored_record_is_used_in_place) {
  auto zip = open(make_zip({{"m/data/0", std::string(64, '\1')}}));
  Storage* s = zip->storage(zip->records()[0], 4);
  CHECK(!s->owned());
  CHECK_EQ(s->nbytes(), 64);
  CHECK_EQ(int(static_cast<char*>(s->data())[63]), 1);
  s->release();
}

TEST(a_storage_outlives_the_archive) {
  auto zip = open(make_zip({{"m/data/0", std::string(64, '\2')}}));
  Storage* s = zip->storage(zip->records()[0], 4);
  zip.reset();
  CHECK_EQ(int(static_cast<char*>(s->data())[0]), 2);
  s->release();
}

static void check_refused(const char* part, const std::vector<ZipEntry>& entries) {
  CHECK_RAISES(ArchiveError, part, {
    auto zip = open(make_zip(entries));
    for (const auto& r : zip->records()) {
      std::string buffer;
      zip->read(r, &buffer);
    }
  });
}

static ZipEntry entry(const char* name, const char* data) {
  ZipEntry e;
  e.name = name;
  e.data = data;
  return e;
}

TEST(names_must_not_escape) {
  for (const char* name : {"../x", "/x", "a/../b", "a\\b", "a/.."}) {
    check_refused("not a relative path", {entry(name, "x")});
  }
}

TEST(a_name_must_not_occur_twice) {
  check_refused("occurs twice", {entry("a", "x"), entry("a", "y")});
}

TEST(records_must_not_overlap) {
  ZipEntry second = entry("a", "y");
  second.name = "b";
  second.local_name = "a";
  check_refused("another name", {entry("a", "x"), second});
  // Two directory entries for one place, with names of the same length.
  ZipEntry first = entry("a", "0123456789"), inside = entry("b", "0123456789");
  inside.claimed_offset = 0;
  check_refused("another name in its local header", {first, inside});
}

TEST(a_record_must_lie_inside_the_file) {
  ZipEntry offset = entry("a", "x");
  offset.claimed_offset = 1 << 30;
  check_refused("outside the file", {offset});
  ZipEntry size = entry("a", "x");
  size.claimed_size = size.claimed_compressed = 1 << 20;
  check_refused("beyond the file's data", {size});
}

TEST(a_stored_record_has_one_size) {
  ZipEntry e = entry("a", "xyz");
  e.claimed_size = 2;
  check_refused("two different sizes", {e});
}

TEST(a_bomb_is_refused_by_its_ratio) {
  ZipEntry e;
  e.name = "a";
  e.data = std::string(1000, 'x');
  e.deflate = true;
  e.claimed_size = 1 << 30;
  check_refused("more than deflate can", {e});
}

TEST(all_bombs_together_are_refused) {
  std::string file =
      make_zip({{"a", std::string(40 << 20, 'x'), true}, {"b", std::string(40 << 20, 'y'), true}});
  auto zip = open(file);
  std::string buffer;
  zip->read(zip->records()[0], &buffer);
  CHECK_RAISES(ArchiveError, "inflate to over", zip->read(zip->records()[1], &buffer));
}

TEST(a_stream_must_end_where_its_size_says) {
  for (int64_t claimed : {999, 1001}) {
    ZipEntry e;
    e.name = "a";
    e.data = std::string(1000, 'x');
    e.deflate = true;
    e.claimed_size = claimed;
    check_refused("damaged", {e});
  }
}

TEST(checksums_are_checked) {
  ZipEntry e = entry("a", "xyz");
  e.crc_change = 1;
  check_refused("checksum", {e});
}

TEST(encryption_and_other_methods_are_refused) {
  ZipEntry encrypted = entry("a", "x");
  encrypted.flags = 1;
  check_refused("encrypted", {encrypted});
  ZipEntry other = entry("a", "x");
  other.method = 12;
  check_refused("compression method", {other});
}

TEST(local_headers_say_what_the_directory_says) {
  std::string file = make_zip({entry("a", "x")});
  for (size_t at : {6, 8, 14, 18, 22}) {  // flags, method, checksum, sizes
    std::string changed = file;
    changed[at] = char(changed[at] ^ 1);
    CHECK_RAISES(ArchiveError, "has another local header", open(changed));
  }
  file[6] = 8;  // what is there follows the contents
  file[14] = char(file[14] ^ 1);
  CHECK_EQ(open(file)->records().size(), size_t(1));
}

TEST(directories_are_whole_and_have_nothing_else) {
  std::string file = make_zip({entry("a", "x"), entry("b", "y")});
  size_t end = file.size() - 22;
  for (size_t at : {4, 6, 8}) {  // disk, disk of the directory, records here
    std::string changed = file;
    changed[end + at] = char(changed[end + at] ^ 1);
    CHECK_RAISES(ArchiveError, "one part of several", open(changed));
  }
  std::string fewer = file;
  fewer[end + 8] = fewer[end + 10] = 1;
  CHECK_RAISES(ArchiveError, "more than its records", open(fewer));
  check_refused("not UTF-8", {entry("a\xff", "x")});
  check_refused("folder with contents", {entry("a/", "x")});
  std::string shadowed = file + std::string("PK\5\6", 4);
  CHECK_RAISES(ArchiveError, "ends outside the file", open(shadowed));
}

TEST(a_file_that_is_no_zip_is_named) {
  CHECK_RAISES(ArchiveError, "a JPEG image", open("\xff\xd8\xff\xe0 and so on"));
  CHECK_RAISES(ArchiveError, "no zip file", open("hello"));
  CHECK_RAISES(ArchiveError, "torch.save", open("\x80\x02}q\x01."));
  CHECK_RAISES(ArchiveError, "not a regular file", Bytes::of_file("/"));
  CHECK_RAISES(ArchiveError, "cannot open", Bytes::of_file("/no/such/file"));
}

TEST(files_with_any_letters_are_written_read_and_replaced) {
  const std::string path = "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad.bin", part = path + ".part";
  auto write = [](const std::string& to, const std::string& data) {
    files::remove(to);
    const int file = files::make(to);
    CHECK(file >= 0 && files::make(to) < 0);
    CHECK_EQ(files::write(file, data.data(), data.size()), int64_t(data.size()));
    CHECK(files::flush(file));
    files::close(file);
  };
  const std::string lines = std::string("a\nb\r\n\x1a") + '\0' + "c";  // neither text nor its end
  write(path, lines);
  CHECK_EQ(Bytes::of_file(path)->view(), lines);
  write(part, std::string(Bytes::kReadWhole, 'x') + lines);
  CHECK(files::rename(part, path));
  CHECK_RAISES(ArchiveError, "cannot open", Bytes::of_file(part));
  {
    auto mapped = Bytes::of_file(path);
    CHECK_EQ(mapped->view().substr(Bytes::kReadWhole), lines);
    mapped->data()[0] = 'y';  // in memory alone
    CHECK_EQ(Bytes::of_file(path)->view()[0], 'x');
  }
  files::remove(path);
  CHECK_RAISES(ArchiveError, "cannot open", Bytes::of_file(path));
}

TEST(every_truncation_is_refused) {
  std::string file = make_zip({{"m/a", "hello"}, {"m/b", std::string(300, 'x'), true}});
  for (size_t n = 0; n < file.size(); ++n) {
    CHECK_RAISES(ArchiveError, "", open(file.substr(0, n)));
  }
}

TEST(flipped_bits_never_read_outside) {
  std::string file = make_zip({{"m/a", "hello"}, {"m/b", std::string(300, 'x'), true}});
  for (size_t at = 0; at < file.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      try {
        auto zip = open(damaged);
        for (const auto& r : zip->records()) {
          std::string buffer;
          zip->read(r, &buffer);
          zip->storage(r, 4)->release();
        }
      } catch (const Error& e) { CHECK(e.kind == ErrorKind::ArchiveError); }
    }
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
