#include "tests/faults/injector.h"

#include <signal.h>

#include "tests/faults/board.h"

namespace fanin::faults {
namespace {

std::optional<RelayOrder::What> relay_fault(Kind kind) {
  switch (kind) {
    case Kind::kCut:
      return RelayOrder::What::kCut;
    case Kind::kReset:
      return RelayOrder::What::kReset;
    case Kind::kHalfClose:
      return RelayOrder::What::kHalfClose;
    case Kind::kStall:
    case Kind::kPauseTraffic:
      return RelayOrder::What::kStall;
    case Kind::kDelay:
      return RelayOrder::What::kDelay;
    case Kind::kCrumbs:
      return RelayOrder::What::kCrumbs;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Injector::trap(RelayOrder::What what, bool fresh) {
  RelayOrder o;
  o.what = what;
  o.flow = s_.flow;
  o.fresh = fresh;
  o.connection = s_.connection;
  if (fresh) o.connection %= static_cast<uint32_t>(s_.nranks) * kReducers * kLanes;
  o.at_byte = s_.at_byte;
  o.delay_us = static_cast<uint32_t>(s_.delay.count());
  o.seed = s_.seed;
  relay_->order(o);
}

void Injector::prepare() {
  if (auto what = relay_fault(s_.kind); what && s_.moment == Moment::kConnect) trap(*what, true);
}

void Injector::strike() {
  switch (s_.kind) {
    case Kind::kKillWorker:
      return signal_(SIGKILL);
    case Kind::kExitWorker:
      return order_(Board::kExit);
    case Kind::kAbortWorker:
      return order_(Board::kAbort);
    case Kind::kShutSocket:
      return order_(Board::kShut);
    case Kind::kStopWorker:
    case Kind::kPauseWorker:
      return signal_(SIGSTOP);
    case Kind::kKillReducer:
    case Kind::kRestartReducer:
      pool_.last().signal(SIGKILL);
      if (s_.kind == Kind::kRestartReducer) {
        (void)pool_.last().wait(milliseconds(5000));
        pool_.revive();
      }
      return;
    case Kind::kStopReducer:
    case Kind::kPauseReducer:
      return pool_.last().signal(SIGSTOP);
    case Kind::kDrainReducer:
      return pool_.last().signal(SIGTERM);
    case Kind::kLinkDown:
    case Kind::kLinkFlap:
      return network_->set_link(s_.victim, false);
    case Kind::kDropOut:
      return network_->set_loss(s_.victim, Flow::kUp, true);
    case Kind::kDropIn:
      return network_->set_loss(s_.victim, Flow::kDown, true);
    case Kind::kDropBriefly:
      return network_->set_loss(s_.victim, s_.flow, true);
    default:
      if (s_.moment != Moment::kConnect) trap(*relay_fault(s_.kind), false);
  }
}

void Injector::undo() {
  switch (s_.kind) {
    case Kind::kStopWorker:
    case Kind::kPauseWorker:
      return signal_(SIGCONT);
    case Kind::kStopReducer:
    case Kind::kPauseReducer:
      return pool_.last().signal(SIGCONT);
    default:
      if (relay_) relay_->order({});
      if (network_) network_->heal();
  }
}

bool Injector::struck() {
  auto what = relay_fault(s_.kind);
  return !what || *what == RelayOrder::What::kDelay || *what == RelayOrder::What::kCrumbs || relay_->struck();
}

}  // namespace fanin::faults
