// What reading and writing archives asks of the system: files, by paths in UTF-8.  Where something
// fails, errno says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scriptlang::files {

// A descriptor, or -1.  `make` makes a file that was not there.
int open(const std::string& path);
int make(const std::string& path);
void close(int file);

struct Facts {
  bool is_regular;
  int64_t size;
  unsigned mode;
};
bool facts_of(int file, Facts* facts);
bool facts_of(const std::string& path, Facts* facts);
void set_mode(int file, unsigned mode);

// How many bytes were read or written, which may be fewer; -1 where it fails.
int64_t read(int file, char* data, size_t size);
int64_t write(int file, const char* data, size_t size);
bool flush(int file);  // to the disk

// The contents in memory, where the caller may write to them for itself alone; null if it fails.
void* map(int file, size_t size);
void unmap(void* data, size_t size);

// `path` without symbolic links; as it is if that is not known.
std::string real(const std::string& path);
// Gives a closed file the name of another one, which it takes the place of.
bool rename(const std::string& from, const std::string& to);
void remove(const std::string& path);
// A number that no other process has.
int64_t process();

}  // namespace scriptlang::files
