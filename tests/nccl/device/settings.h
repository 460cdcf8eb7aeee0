// What the CPU device looks like, from CPUDEV_* variables (README.md lists them), and its log.
//
// Constant after first use. Any thread; the current device is a property of the calling thread, as in CUDA.
#pragma once

namespace cpudev {

int device_count();          // CPUDEV_DEVICES, 8
int compute_capability();    // CPUDEV_SM, 80: sm_80
bool gpu_direct();           // CPUDEV_GDR: claims GPUDirect RDMA
bool verbose();              // CPUDEV_VERBOSE
int device_bus(int device);  // PCI bus number
int device_of_bus(int bus);  // its inverse; not range-checked

int current_device();
void set_current_device(int device);

// One line on stderr, with the process id.
void logf(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace cpudev
