// Sockets in memory, so that a fuzz target drives the real code (TcpStream, Member, RecvComm, …) through millions of
// exchanges without a system call, a thread or a clock, and the same input always does the same.
//
// kernel.cc defines the socket calls of libc (readv, sendmsg, recv, send, close, shutdown, epoll_ctl, …) for descriptors
// made here and passes all others to Linux. While capture(true), socket() makes descriptors here too: connect succeeds at
// once, and a listener takes in what arrive() brings. What a caller offers readv or sendmsg must be addressable to its
// last byte, also where less is moved. Code that waits itself (poll, epoll_wait) is driven from its waiting: on_wait's
// function does the peers' next step. getrandom counts. One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fanin::fuzz::kernel {

// A connected socket whose peer is the fuzz target. Owned by whoever closes it.
int socket();
// A connection waits to be accepted from the listener.
int arrive();
// A socket that listens: what arrives makes it readable.
int listener();
void capture(bool on);
int newest();  // the last socket that was made
// Called whenever the code under test waits on sockets of here, until reset().
void on_wait(std::function<void()> step);

// ---- The peer's side.
void deliver(int fd, std::string_view bytes);  // readable now
void end(int fd);                              // the peer closed: after the bytes comes the end
void fail(int fd, int err);                    // reads and writes give this error
void room(int fd, size_t bytes);               // the socket takes so many bytes more; at first, all
std::string& sent(int fd);                     // what was written
bool is_open(int fd);

// What epoll would report for its registration here; 0: nothing. Level-triggered.
uint32_t events(int fd);
void* tag(int fd);

// Forgets all sockets. Aborts when one is still open: the code under test leaked it.
void reset();

}  // namespace fanin::fuzz::kernel
