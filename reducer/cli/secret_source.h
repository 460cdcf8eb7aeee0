// Where fanin-reducer's secrets come from: --secret-file, or FANIN_SECRET. One thread; reads files.
#pragma once
#include <sys/types.h>

#include <ctime>
#include <string>

#include "fanin/secret_file.h"

namespace fanin::reducer::cli {

class SecretSource {
 public:
  SecretSource() = default;
  SecretSource(std::string file, std::string text) : file_(std::move(file)), text_(std::move(text)) {}
  bool given() const { return has_file() || !text_.empty(); }
  bool has_file() const { return !file_.empty(); }

  // The secrets as they are now.
  Result<SecretFile> load();
  // The file is another one, or was written, since load(); or it is gone, said once, at the second look in a row: one
  // may fall between a removal and its successor.
  bool changed();

 private:
  // What stat tells of a file that was replaced or written.
  struct Look {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec written{};
    bool operator==(const Look& o) const {
      return device == o.device && inode == o.inode && size == o.size && written.tv_sec == o.written.tv_sec &&
             written.tv_nsec == o.written.tv_nsec;
    }
  };
  bool look(Look& out) const;

  std::string file_, text_;
  Look read_;
  unsigned missed_ = 0;  // looks in a row that found no file
};

}  // namespace fanin::reducer::cli
