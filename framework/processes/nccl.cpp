// NCCL, whose library is opened when processes with a GPU each share a training. Its calls do not block here: a rank that waits
// for others looks whether one of them has failed.
#include <cstring>
#include <string>

#include <nccl.h>

#include "framework/check.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/cuda/libraries.h"
#include "framework/processes/transport.h"

namespace unroll {

namespace {

const gpu::Library& nccl_library() {
  static const gpu::Library library("libnccl.so." + std::to_string(NCCL_MAJOR));
  return library;
}

// All are looked up at once.
struct Nccl {
  const gpu::Library& from = nccl_library();
  decltype(&ncclGetVersion) get_version = from["ncclGetVersion"];
  decltype(&ncclGetUniqueId) get_unique_id = from["ncclGetUniqueId"];
  decltype(&ncclGetErrorString) error_string = from["ncclGetErrorString"];
  decltype(&ncclGetLastError) last_error = from["ncclGetLastError"];
  decltype(&ncclCommInitRankConfig) join = from["ncclCommInitRankConfig"];
  decltype(&ncclCommGetAsyncError) async_error = from["ncclCommGetAsyncError"];
  decltype(&ncclCommFinalize) finalize = from["ncclCommFinalize"];
  decltype(&ncclCommDestroy) destroy = from["ncclCommDestroy"];
  decltype(&ncclCommAbort) abort = from["ncclCommAbort"];
  decltype(&ncclGroupStart) group_start = from["ncclGroupStart"];
  decltype(&ncclGroupEnd) group_end = from["ncclGroupEnd"];
  decltype(&ncclSend) send = from["ncclSend"];
  decltype(&ncclRecv) receive = from["ncclRecv"];
};
const Nccl& nccl() {
  static const Nccl functions;
  return functions;
}

void check(ncclResult_t result, const char* function, ncclComm_t of = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const more = of ? nccl().last_error(of) : nullptr;
  throw DeviceError(fmt::format("{}: {}{}{}", function, nccl().error_string(result),
                                more && *more ? ": " : "", more ? more : ""));
}

class NcclGroup final : public GpuTransport {
 public:
  NcclGroup(int rank, int count, const std::string& group) {
    ncclUniqueId id;
    require(group.size() == sizeof id.internal, "NCCL: an id of {} bytes, of {}", group.size(),
            sizeof id.internal);
    std::memcpy(id.internal, group.data(), group.size());
    int version = 0;
    check(nccl().get_version(&version), "ncclGetVersion");
    name = fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    gpu::use_device();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(nccl().join(&comm_, count, id, rank, &config), "ncclCommInitRankConfig", comm_);
    gpu::check(cudaEventCreateWithFlags(&moved_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~NcclGroup() override {
    gpu::use_device();
    if (comm_) left_ ? nccl().destroy(comm_) : nccl().abort(comm_);
    if (moved_) cudaEventDestroy(moved_);
  }

  void begin(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received) override {
    constexpr const char* end = "ncclGroupEnd";
    const cudaStream_t stream = gpu::stream();
    check(nccl().group_start(), "ncclGroupStart");
    try {
      for (const ReceivedBlock& block : received)
        check(nccl().receive(block.data.data(), block.data.size(), ncclUint8, block.from, comm_, stream),
              "ncclRecv", comm_);
      for (const SentBlock& block : sent)
        check(nccl().send(block.data.data(), block.data.size(), ncclUint8, block.to, comm_, stream),
              "ncclSend", comm_);
    } catch (const Error&) {
      nccl().group_end();
      throw;
    }
    check(nccl().group_end(), end, comm_);
    asked_ = moving_ = true;
  }

  bool is_done() override {
    if (is_busy()) return false;  // the host, with what it asks of the GPU
    if (std::exchange(asked_, false)) gpu::check(cudaEventRecord(moved_, gpu::stream()), "cudaEventRecord");
    if (moving_) {
      const cudaError_t status = cudaEventQuery(moved_);
      if (status == cudaErrorNotReady) {
        cudaGetLastError();  // or the next kernel would report it
        return false;
      }
      gpu::check(status, "cudaEventQuery");
      moving_ = false;
    }
    left_ = leaving_;
    return true;
  }

  void finish() override {
    check(nccl().finalize(comm_), "ncclCommFinalize", comm_);
    leaving_ = true;
  }

 private:
  bool is_busy() {
    ncclResult_t state = ncclSuccess;
    check(nccl().async_error(comm_, &state), "ncclCommGetAsyncError");
    check(state, "NCCL", comm_);
    return state == ncclInProgress;
  }
  ncclComm_t comm_ = nullptr;
  cudaEvent_t moved_ = nullptr;
  bool asked_ = false, moving_ = false;  // blocks
  bool leaving_ = false, left_ = false;
};

}  // namespace

std::string why_no_gpu_transport() { return nccl_library().missing(); }

std::string gpu_identity() {
  cudaDeviceProp properties;
  gpu::check(cudaGetDeviceProperties(&properties, gpu::use_device()), "cudaGetDeviceProperties");
  return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}

std::string new_gpu_group() {
  ncclUniqueId id;
  check(nccl().get_unique_id(&id), "ncclGetUniqueId");
  return {id.internal, sizeof id.internal};
}

std::unique_ptr<GpuTransport> open_gpu_transport(int rank, int count, const std::string& group) {
  return std::make_unique<NcclGroup>(rank, count, group);
}

}  // namespace unroll
