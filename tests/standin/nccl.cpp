// The stand-in's NCCL: processes on this machine, each with a device of its own, and blocks that go over sockets. Only what does not
// block is there. A call begins; ncclCommGetAsyncError() does what can be done at the moment, and says whether it is done.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nccl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "framework/clock.h"
#include "tests/standin/standin.h"
#include "tests/standin/streams.h"

using namespace standin;

namespace {

struct Header {  // before each block
  uint64_t group, bytes;
};
struct Block {
  char* memory = nullptr;
  std::size_t bytes = 0, done = 0;
  std::vector<char> data;  // with its header
};
struct Hello {
  int rank = 0, device = 0;
};
struct Peer {
  int socket = -1;
  std::deque<Block> sent, received;
};

sockaddr_un address_of(const std::string& group, int rank, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("{}-{}", group, rank);  // abstract: the first byte stays 0
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// As many bytes as there are at the moment, of those that are left. Negative: the other is gone.
template <class Call>
int64_t move_some(Call call, int socket, char* memory, std::size_t bytes) {
  const ssize_t moved = call(socket, memory, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (moved > 0) return moved;
  return moved < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

}  // namespace

struct ncclComm {
  std::string group;
  int rank = 0, count = 1, device = 0, listener = -1;
  uint64_t groups = 0;  // of blocks, so far
  bool finalized = false;
  ncclResult_t failed = ncclSuccess;
  std::vector<Peer> peers;

  void close_all() {
    for (const Peer& peer : peers)
      if (peer.socket >= 0) close(peer.socket);
    if (listener >= 0) close(listener);
  }
  bool is_connected() const {
    for (int other = 0; other < count; ++other)
      if (other != rank && peers[static_cast<std::size_t>(other)].socket < 0) return false;
    return true;
  }
  // Each rank listens, and looks for those below it. Two on one device are refused.
  ncclResult_t connect_some() {
    for (int other = 0; other < rank; ++other) {
      if (peers[static_cast<std::size_t>(other)].socket >= 0) continue;
      const int found = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      socklen_t length = 0;
      const sockaddr_un address = address_of(group, other, length);
      const Hello mine{rank, device};
      if (connect(found, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        close(found);  // it does not listen yet
        continue;
      }
      if (send(found, &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine) return ncclSystemError;
      peers[static_cast<std::size_t>(other)].socket = found;
    }
    for (int found; (found = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      Hello theirs;  // sent at once
      if (recv(found, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs) return ncclSystemError;
      peers[static_cast<std::size_t>(theirs.rank)].socket = found;
      if (theirs.device == device) return ncclInvalidUsage;
    }
    return is_connected() ? ncclSuccess : ncclInProgress;
  }

  ncclResult_t send_some(Peer& peer) {
    while (!peer.sent.empty()) {
      Block& block = peer.sent.front();
      const int64_t moved =
          move_some(::send, peer.socket, block.data.data() + block.done, block.data.size() - block.done);
      if (moved < 0) return ncclRemoteError;
      if (moved == 0) return ncclInProgress;
      block.done += static_cast<std::size_t>(moved);
      if (block.done == block.data.size()) peer.sent.pop_front();
    }
    return ncclSuccess;
  }
  ncclResult_t receive_some(Peer& peer, int from) {
    while (!peer.received.empty()) {
      Block& block = peer.received.front();
      block.data.resize(sizeof(Header) + block.bytes);
      // The header alone at first: what comes behind it may be of another size than is expected.
      const std::size_t end = block.done < sizeof(Header) ? sizeof(Header) : block.data.size();
      const int64_t moved = move_some(::recv, peer.socket, block.data.data() + block.done, end - block.done);
      if (moved < 0) return ncclRemoteError;
      if (moved == 0) return ncclInProgress;
      block.done += static_cast<std::size_t>(moved);
      if (block.done < sizeof(Header)) continue;
      Header header;
      std::memcpy(&header, block.data.data(), sizeof header);
      if (header.bytes != block.bytes || header.group != groups)
        stop(fmt::format("ncclRecv: {} bytes of group {} are expected of rank {}, which sends {} of group {}",
                         block.bytes, groups, from, header.bytes, header.group));
      if (block.done < block.data.size()) continue;
      const OpenMemory opened;
      std::memcpy(block.memory, block.data.data() + sizeof header, block.bytes);
      peer.received.pop_front();
    }
    return ncclSuccess;
  }
  // Does all that can be done at the moment.
  ncclResult_t go_on() {
    if (failed) return failed;
    if (const ncclResult_t result = is_connected() ? ncclSuccess : connect_some()) {
      if (result != ncclInProgress) failed = result;
      return result;
    }
    bool waits = false;
    for (int other = 0; other < count; ++other) {
      Peer& peer = peers[static_cast<std::size_t>(other)];
      for (const ncclResult_t result : {send_some(peer), receive_some(peer, other)}) {
        if (result == ncclInProgress) waits = true;
        if (result == ncclRemoteError) return failed = result;
      }
    }
    return waits ? ncclInProgress : ncclSuccess;
  }
  bool has_blocks() const {
    for (const Peer& peer : peers)
      if (!peer.sent.empty() || !peer.received.empty()) return true;
    return false;
  }
};

namespace {

std::set<ncclComm*> groups;  // that are alive
int depth = 0;               // of ncclGroupStart
std::set<ncclComm*> in_group;

ncclComm& alive(const char* call, ncclComm_t comm) {
  if (!groups.contains(comm)) stop(std::string(call) + ": there is no such communicator");
  return *comm;
}

Peer& checked_peer(const char* call, ncclComm_t comm, int other, const void* memory, std::size_t bytes,
                   ncclDataType_t type, cudaStream_t stream) {
  ncclComm& with = alive(call, comm);
  require_stream(call, stream);
  require_device_of_streams(call);
  require_device(call, memory, bytes);
  if (capturing()) stop(std::string(call) + ": the stream is captured, and the stand-in plays no such graph");
  finish(stream);
  if (depth == 0)
    stop(std::string(call) + ": outside of a group it waits for the other, which may wait for this one");
  if (type != ncclUint8) stop(std::string(call) + ": the stand-in has bytes only");
  if (other < 0 || other >= with.count || other == with.rank)
    stop(fmt::format("{}: rank {} of {} has no rank {}", call, with.rank, with.count, other));
  if (!with.is_connected() || with.has_blocks() != in_group.contains(comm))
    stop(std::string(call) + ": what was begun before is not done");
  if (in_group.insert(comm).second) ++with.groups;
  return with.peers[static_cast<std::size_t>(other)];
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  const std::string name =
      fmt::format("unroll-standin-{}-{}", getpid(), static_cast<int64_t>(1e9 * unroll::clock_seconds()));
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unhandled system error";
  }
}
const char* ncclGetLastError(ncclComm_t comm) {
  return alive("ncclGetLastError", comm).failed == ncclInvalidUsage ? "Duplicate GPU detected" : "";
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int count, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  constexpr const char* call = "ncclCommInitRankConfig";
  if (config->size != sizeof *config || config->magic != 0xcafebeef)
    stop(std::string(call) + ": its config was not initialized");
  if (config->blocking != 0) stop(std::string(call) + ": the stand-in has only what does not block");
  if (rank < 0 || rank >= count) stop(fmt::format("{}: rank {} of {}", call, rank, count));
  require_device_of_streams(call);
  auto* const made = new ncclComm;
  made->group = id.internal;
  made->rank = rank, made->count = count, made->device = device_of_thread();
  made->peers.resize(static_cast<std::size_t>(count));
  made->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socklen_t length = 0;
  const sockaddr_un address = address_of(made->group, rank, length);
  if (bind(made->listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(made->listener, count) != 0)
    made->failed = ncclSystemError;
  groups.insert(made);
  *comm = made;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = alive("ncclCommGetAsyncError", comm).go_on();
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  ncclComm& with = alive("ncclCommFinalize", comm);
  if (with.has_blocks()) stop("ncclCommFinalize: what was begun before is not done");
  with.finalized = true;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ncclComm& with = alive("ncclCommDestroy", comm);
  if (!with.finalized) stop("ncclCommDestroy: without ncclCommFinalize it waits for the others");
  return ncclCommAbort(comm);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  alive("ncclCommAbort", comm).close_all();
  groups.erase(comm);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (depth == 0) stop("ncclGroupEnd: there is no group");
  if (--depth == 0) in_group.clear();
  return ncclInProgress;
}
// Sends the memory's contents at its turn in the stream, which is now.
ncclResult_t ncclSend(const void* memory, std::size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  Peer& peer = checked_peer("ncclSend", comm, to, memory, count, type, stream);
  const Header header{comm->groups, count};
  Block block;
  block.data.resize(sizeof header + count);
  std::memcpy(block.data.data(), &header, sizeof header);
  const OpenMemory opened;
  std::memcpy(block.data.data() + sizeof header, memory, count);
  peer.sent.push_back(std::move(block));
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* memory, std::size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  Peer& peer = checked_peer("ncclRecv", comm, from, memory, count, type, stream);
  Block block;
  block.memory = static_cast<char*>(memory), block.bytes = count;
  peer.received.push_back(std::move(block));
  return ncclSuccess;
}

}  // extern "C"
