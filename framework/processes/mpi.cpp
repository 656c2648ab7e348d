// Open MPI, whose library is opened when it is needed: a program that is started alone does not load it.
#define OMPI_SKIP_MPICXX  // its C++ functions are another library
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>
#include <mpi.h>

#include "framework/check.h"
#include "framework/processes/transport.h"

namespace unroll {

namespace {

// Its functions, and the objects that the macros of mpi.h take the addresses of.
class Library {
 public:
  Library() {
    for (const char* name : {"libmpi.so.40", "libmpi.so"})
      if (!handle_)
        handle_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);  // its own plugins look there for its functions
    if (handle_) return;
    const char* const why = dlerror();
    throw InputError(fmt::format("started by mpirun, and Open MPI's library cannot be opened: {}",
                                 why ? why : "libmpi.so.40"));
  }
  template <class T>
  T* find(const char* name) const {
    void* const address = dlsym(handle_, name);
    require(address, "libmpi has no {}: it is none of Open MPI 2 to 5", name);
    return reinterpret_cast<T*>(address);
  }

 private:
  void* handle_ = nullptr;
};

#define UNROLL_MPI_FUNCTION(name) \
  decltype(&::MPI_##name) name = library.find<decltype(::MPI_##name)>("MPI_" #name)
struct Functions {
  Library library{};
  UNROLL_MPI_FUNCTION(Init_thread);
  UNROLL_MPI_FUNCTION(Comm_dup);
  UNROLL_MPI_FUNCTION(Comm_rank);
  UNROLL_MPI_FUNCTION(Comm_size);
  UNROLL_MPI_FUNCTION(Comm_set_errhandler);
  UNROLL_MPI_FUNCTION(Error_string);
  UNROLL_MPI_FUNCTION(Finalize);
  UNROLL_MPI_FUNCTION(Get_library_version);
  UNROLL_MPI_FUNCTION(Iprobe);
  UNROLL_MPI_FUNCTION(Irecv);
  UNROLL_MPI_FUNCTION(Isend);
  UNROLL_MPI_FUNCTION(Recv);
  UNROLL_MPI_FUNCTION(Test);
  MPI_Comm world = library.find<std::remove_pointer_t<MPI_Comm>>("ompi_mpi_comm_world");
  MPI_Datatype byte = library.find<std::remove_pointer_t<MPI_Datatype>>("ompi_mpi_byte");
  MPI_Errhandler return_errors =
      library.find<std::remove_pointer_t<MPI_Errhandler>>("ompi_mpi_errors_return");
};
#undef UNROLL_MPI_FUNCTION

class OpenMpi final : public Transport {
 public:
  explicit OpenMpi(int launched) {
    // Over TCP, Open MPI asks before it sends a message that is longer than this. The answer waits behind what goes
    // the other way, so both ways would have the network by turns. A value that the user has set stays.
    setenv("OMPI_MCA_btl_tcp_eager_limit", std::to_string(2 * most_of_message).c_str(), 0);
    int provided = MPI_THREAD_SINGLE;
    check("MPI_Init_thread", mpi_.Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    any_thread = provided >= MPI_THREAD_SERIALIZED;
    check("MPI_Comm_size", mpi_.Comm_size(mpi_.world, &count));
    check("MPI_Comm_rank", mpi_.Comm_rank(mpi_.world, &rank));
    require_input(
        count == launched,
        "started as one of {} processes, and Open MPI's library sees {}: start it by the mpirun of that Open "
        "MPI",
        launched, count);
    for (MPI_Comm* const group : {&blocks_, &words_}) {
      check("MPI_Comm_dup", mpi_.Comm_dup(mpi_.world, group));
      check("MPI_Comm_set_errhandler", mpi_.Comm_set_errhandler(*group, mpi_.return_errors));
    }
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    mpi_.Get_library_version(text, &length);
    name = std::string(text, static_cast<std::size_t>(length));  // "Open MPI v4.1.4, package: …"
    name = name.substr(0, name.find(','));
    if (const auto v = name.find(" v"); v != std::string::npos) name.erase(v + 1, 1);
  }

  int send(int to, const void* data, std::size_t bytes) override {
    return begin("MPI_Isend", bytes, [&](std::size_t from, int size, MPI_Request* request) {
      return mpi_.Isend(static_cast<const char*>(data) + from, size, mpi_.byte, to, 0, blocks_, request);
    });
  }
  int receive(int from, void* data, std::size_t bytes) override {
    return begin("MPI_Irecv", bytes, [&](std::size_t at, int size, MPI_Request* request) {
      return mpi_.Irecv(static_cast<char*>(data) + at, size, mpi_.byte, from, 0, blocks_, request);
    });
  }
  bool is_done(int number) override {
    auto& requests = blocks_begun_[static_cast<std::size_t>(number)];
    while (!requests.empty()) {
      int done = 0;
      check("MPI_Test", mpi_.Test(&requests.back(), &done, MPI_STATUS_IGNORE));
      if (!done) return false;
      requests.pop_back();
    }
    free_.push_back(number);
    return true;
  }

  void send_word(int to, int word) override {
    words_sent_.push_back(std::make_unique<int>(word));
    MPI_Request request;
    int done = 0;
    if (mpi_.Isend(words_sent_.back().get(), sizeof word, mpi_.byte, to, 0, words_, &request) == MPI_SUCCESS)
      mpi_.Test(&request, &done, MPI_STATUS_IGNORE);  // of one that is gone already there is nothing to say
  }
  std::optional<Word> find_word() override {
    int there = 0;
    MPI_Status status;
    check("MPI_Iprobe", mpi_.Iprobe(MPI_ANY_SOURCE, 0, words_, &there, &status));
    if (!there) return {};
    Word word{status.MPI_SOURCE, 0};
    check("MPI_Recv",
          mpi_.Recv(&word.word, sizeof word.word, mpi_.byte, word.from, 0, words_, MPI_STATUS_IGNORE));
    return word;
  }

  void finish() override { mpi_.Finalize(); }

 private:
  void check(const char* function, int code) const {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    mpi_.Error_string(code, text, &length);
    throw Error(fmt::format("{}: {}", function, std::string_view(text, static_cast<std::size_t>(length))));
  }
  // A large block is several messages, which arrive in the order in which they were sent.
  static constexpr std::size_t most_of_message = std::size_t{1} << 19;
  template <class Call>
  int begin(const char* function, std::size_t bytes, Call call) {
    if (free_.empty()) free_.push_back(static_cast<int>(blocks_begun_.size())), blocks_begun_.emplace_back();
    const int number = free_.back();
    free_.pop_back();
    for (std::size_t from = 0; from < bytes; from += most_of_message) {
      MPI_Request& request = blocks_begun_[static_cast<std::size_t>(number)].emplace_back();
      check(function, call(from, static_cast<int>(std::min(most_of_message, bytes - from)), &request));
    }
    return number;
  }

  const Functions mpi_{};
  MPI_Comm blocks_{}, words_{};
  std::vector<std::vector<MPI_Request>> blocks_begun_;  // by number
  std::vector<int> free_;
  std::vector<std::unique_ptr<int>> words_sent_;  // kept to the end: nobody waits for them
};

}  // namespace

std::unique_ptr<Transport> open_transport(int launched) { return std::make_unique<OpenMpi>(launched); }

}  // namespace unroll
