// A build without CUDA or without NCCL.
#include "framework/check.h"
#include "framework/processes/transport.h"

namespace unroll {

std::string why_no_gpu_transport() { return "this program was built without NCCL"; }
std::string gpu_identity() { throw Error(why_no_gpu_transport()); }
std::string new_gpu_group() { throw Error(why_no_gpu_transport()); }
std::unique_ptr<GpuTransport> open_gpu_transport(int, int, const std::string&) {
  throw Error(why_no_gpu_transport());
}

}  // namespace unroll
