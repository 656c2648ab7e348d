// A build without MPI.
#include "framework/check.h"
#include "framework/processes/transport.h"

namespace unroll {

std::unique_ptr<Transport> open_transport(int launched) {
  throw InputError(fmt::format(
      "started as one of {} processes, and this program was built without MPI: './run mpi' builds one "
      "with it, or start it without mpirun",
      launched));
}

}  // namespace unroll
