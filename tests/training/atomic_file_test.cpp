// Files that are written whole or not at all, also where the writer is killed.
#include "training/files/atomic_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/random.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace

TEST_CASE("atomic files: a writer that fails keeps the old file and leaves no other") {
  const Folder folder;
  const fs::path path = folder / "w";
  write_safetensors(path, {{"a", tensor({2}, {1, 2})}});
  const std::string before = read_text(path);

  SUBCASE("given up") {
    {
      AtomicFile file(path);
      file.write("half");
      CHECK(folder.listing().size() == 2);
    }
  }
  SUBCASE("no room: the limit of a file's size") {
    rlimit old_limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
    const rlimit limit{4096, old_limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const std::string message = error_of([&] {
      write_safetensors(path, {{"a", Tensor::zeros({100, 100})}});
    });
    setrlimit(RLIMIT_FSIZE, &old_limit);
    CHECK(lacks(message, {path.string() + ": cannot be written: File too large", "left as it was"}) == "");
  }
  SUBCASE("no room: the disk") {
    if (!fs::exists("/dev/full")) return;
    const int full = open("/dev/full", O_WRONLY);
    // The temporary file is open already: what it is open on is exchanged for a device that is always full.
    AtomicFile file(path);
    for (int descriptor = 3; descriptor < full + 10; ++descriptor) {
      std::error_code error;
      const fs::path target = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
      if (!error && target == path.string() + ".unroll-partial")
        REQUIRE(dup2(full, descriptor) == descriptor);
    }
    close(full);
    CHECK(lacks(error_of([&] { file.write("text"); }),
                {path.string() + ": cannot be written: No space left on device"}) == "");
  }
  SUBCASE("two tensors of one name") {
    CHECK(lacks(error_of([&] {
                  write_safetensors(path, {{"a", Tensor({1})}, {"a", Tensor({1})}});
                }),
                {"'a' is taken"}) == "");
  }
  SUBCASE("text that is not UTF-8") {
    CHECK(lacks(error_of([&] { write_safetensors(path, {}, {{"a", "\xff"}}); }), {"must be UTF-8"}) == "");
  }
  SUBCASE("another process at work") {
    const int other = open((path.string() + ".unroll-partial").c_str(), O_RDWR | O_CREAT, 0666);
    REQUIRE(flock(other, LOCK_EX) == 0);
    { AtomicFile file(path); }                             // has a name of its own
    CHECK(fs::exists(path.string() + ".unroll-partial"));  // it is the other's
    fs::remove(path.string() + ".unroll-partial");
    close(other);
  }
  CHECK(read_text(path) == before);
  CHECK(folder.listing().size() == 1);
}

TEST_CASE("atomic files: folders that are missing or in the way") {
  const Folder folder;
  CHECK(lacks(error_of([&] { write_file_atomically(folder / "none/w", "x"); }),
              {"none/w: cannot be written: No such file"}) == "");
  fs::create_directories(folder / "w/inside");
  CHECK(lacks(error_of([&] { write_file_atomically(folder / "w", "x"); }), {"/w: cannot be written: "}) ==
        "");
  CHECK(fs::exists(folder / "w/inside"));
  CHECK(folder.listing().size() == 2);  // w and w/inside
}

TEST_CASE("atomic files: what a killed writer left behind is in nobody's way") {
  const Folder folder;
  put(folder / "w.unroll-partial", std::string(10000, 'x'));
  write_file_atomically(folder / "w", "new");
  CHECK(read_text(folder / "w") == "new");
  CHECK(folder.listing().size() == 1);
}

TEST_CASE("atomic files: what is no file that a writer left is not written to") {
  const Folder folder;
  const std::string precious = folder.write("precious", "notes");
  const std::string partial = (folder / "w.unroll-partial").string();
  const auto check = [&] {
    CHECK(lacks(input_error_of([&] { AtomicFile file(folder / "w"); }),
                {"w: cannot be written: ", partial, "in the way"}) == "");
    remove_partial(folder / "w");
    CHECK(fs::exists(fs::symlink_status(partial)));
    CHECK(read_text(precious) == "notes");
    fs::remove(partial);
  };
  fs::create_hard_link(precious, partial);
  check();
  fs::create_symlink(precious, partial);
  check();
  REQUIRE(mkfifo(partial.c_str(), 0600) == 0);
  check();
}

TEST_CASE("atomic files: what was left is removed, but not under a writer's hands") {
  const Folder folder;
  put(folder / "w.unroll-partial", std::string(100, 'x'));
  remove_partial(folder / "w");
  remove_partial(folder / "w");
  CHECK(folder.listing().empty());
  AtomicFile writer(folder / "w");
  writer.write("half ");
  remove_partial(folder / "w");
  writer.write("whole");
  writer.commit();
  CHECK(read_text(folder / "w") == "half whole");
}

TEST_CASE("atomic files: a new file takes the place of none") {
  const Folder folder;
  write_new_file(folder / "w", "first");
  CHECK(lacks(error_of([&] { write_new_file(folder / "w", "second"); }), {"/w: is there already"}) == "");
  CHECK(read_text(folder / "w") == "first");
  CHECK(folder.listing().size() == 1);
}

TEST_CASE("atomic files: killed at any moment, the file is whole") {
  const Folder folder;
  const fs::path path = folder / "w";
  write_safetensors(path, {{"a", Tensor::full({50000}, 0)}}, {{"version", "0"}});
  RandomStream random(1, "kill");
  int writes = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int version = 1;; ++version) {
        write_safetensors(path, {{"a", Tensor::full({50000}, static_cast<real>(version))}},
                          {{"version", std::to_string(version)}});
      }
    }
    usleep(2000 + random.below(20000));
    REQUIRE(kill(child, SIGKILL) == 0);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    const SafetensorsFile file(path);
    const Tensor read = file.load("a");
    const real version = static_cast<real>(std::stoi(file.metadata().at("version")));
    writes += version > 0;
    CHECK(std::count(read.data(), read.data() + read.size(), version) == read.size());
  }
  CHECK(writes > 0);
  write_file_atomically(path, "and can be written again");
  CHECK(folder.listing().size() == 1);
}
