#include "reducer/metrics/page.h"

// Found by -I. of the compiler's command line; mk/build.mk makes this object depend on it.
asm(R"(
  .pushsection .rodata
  .hidden fanin_status_page
  .globl fanin_status_page
fanin_status_page:
  .incbin "reducer/metrics/page.html"
  .hidden fanin_status_page_end
  .globl fanin_status_page_end
fanin_status_page_end:
  .byte 0
  .popsection
)");
extern "C" const char fanin_status_page[], fanin_status_page_end[];

namespace fanin::reducer::metrics {

std::string_view page() {
  return {fanin_status_page, static_cast<size_t>(fanin_status_page_end - fanin_status_page)};
}

}  // namespace fanin::reducer::metrics
