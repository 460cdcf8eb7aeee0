// A NetDevice as the properties struct of any ABI version; both tables report it the same way, because NCCL
// matches the NICs of ncclNet and ncclCollNet by what they report.
#pragma once
#include <cstddef>

#include "plugin/net/device.h"
#include "plugin/net/net.h"

namespace fanin::plugin::abi {

// One transfer at most: test() reports sizes as int, and it is what NCCL assumes of networks that do not say.
inline constexpr size_t kMaxTransferBytes = size_t{1} << 30;

// The strings live as long as the library. Properties: any ncclNetProperties_vN_t.
template <class Properties>
void describe(const NetDevice& device, int dev, Properties* p) {
  *p = Properties{};
  p->name = const_cast<char*>(device.name.c_str());
  p->pciPath = device.pci_path.empty() ? nullptr : const_cast<char*>(device.pci_path.c_str());
  p->guid = device.guid;
  p->ptrSupport = NCCL_PTR_HOST;
  p->speed = device.speed_mbps;
  p->port = device.port;
  p->latency = device.latency_us;
  p->maxComms = 65536;
  p->maxRecvs = net::kMaxGroupedReceives;
  if constexpr (requires { p->netDeviceType; }) {
    p->netDeviceType = NCCL_NET_DEVICE_HOST;
    p->netDeviceVersion = NCCL_NET_DEVICE_INVALID_VERSION;
  }
  // Registration holds nothing, so it could be called global; but all that NCCL (2.20 - 2.23 only) does with
  // a global one is to connect to itself and register GPU memory, which fails here. Later releases do not
  // read it.
  if constexpr (requires { p->regIsGlobal; }) p->regIsGlobal = 0;
  if constexpr (requires { p->forceFlush; }) p->forceFlush = 0;
  if constexpr (requires { p->vProps; }) {
    p->vProps.ndevs = 1;
    p->vProps.devs[0] = dev;
    p->maxP2pBytes = kMaxTransferBytes;
    p->maxCollBytes = kMaxTransferBytes;
  }
  if constexpr (requires { p->maxMultiRequestSize; }) p->maxMultiRequestSize = 1;
  if constexpr (requires { p->railId; }) p->railId = p->planeId = NCCL_NET_ID_UNDEF;
}

}  // namespace fanin::plugin::abi
