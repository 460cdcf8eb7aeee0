// Which sanitizer this file is compiled under, as FANIN_ASAN and FANIN_TSAN; and FANIN_CHECKED for any of them, or a build
// with -DFANIN_CHECKED: checks that cost too much or only tell programmers something belong there.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define FANIN_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define FANIN_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FANIN_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FANIN_TSAN 1
#endif
#endif
#if (defined(FANIN_ASAN) || defined(FANIN_TSAN)) && !defined(FANIN_CHECKED)
#define FANIN_CHECKED 1
#endif
