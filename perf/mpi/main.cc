// mpi-allreduce: one rank of MPI_Allreduce, started by mpirun; the algorithm is the library's own choice.
#include <mpi.h>

#include "perf/peers/peer.h"

namespace fanin::perf {
namespace {

class MpiPeer final : public Peer {
 public:
  static Result<std::unique_ptr<Peer>> make(const PeerOptions&, Group&) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return std::unique_ptr<Peer>(std::make_unique<MpiPeer>());
  }
  Status all_reduce(const float* in, float* out, size_t count) override {
    if (MPI_Allreduce(in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS)
      return Error(Errc::kRemote, "MPI_Allreduce failed");
    return {};
  }
};

}  // namespace
}  // namespace fanin::perf

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  const int exit_code = fanin::perf::run_peer(argc, argv, "mpi-allreduce", fanin::perf::MpiPeer::make);
  if (exit_code != 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
  MPI_Finalize();
  return exit_code;
}
