// One HTTP request to a reducer's status port, for tools and tests. Blocks until the deadline at most; keeps at most
// kMaxAnswer bytes. Any thread.
#pragma once
#include <string>

#include "fanin/error.h"
#include "transport/deadline.h"
#include "transport/tcp/address.h"

namespace fanin::reducer::http {

inline constexpr size_t kMaxAnswer = 64 << 20;

struct Answer {
  int status = 0;
  std::string head;  // status line and fields
  std::string body;
};

// authorization: the field's value, or "".
Result<Answer> ask(const tcp::Address& at, const std::string& method, const std::string& path,
                   Deadline deadline, const std::string& authorization = "");

// Whether somebody listens there, however slowly they answer.
bool is_listening(const tcp::Address& at, Deadline deadline);

}  // namespace fanin::reducer::http
