// System calls show what a program has handed to the disk before it calls a file written.
#include <algorithm>

#include "tests/training/program/system_calls.h"
#include "tests/training/program/trained_programs.h"

namespace fs = std::filesystem;

namespace {

// "" if every rename in the log stands between an fsync of what is renamed and one of its folder; else what is missing. Each
// fsync counts for one file only: a new version of a file needs one of its own.
std::string missing_sync(std::vector<std::string> calls) {
  const auto take = [&](auto begin, auto end, const std::string& call) {
    const auto found = std::find(begin, end, call);
    if (found == end) return false;
    *found += " (counted)";
    return true;
  };
  for (auto call = calls.begin(); call != calls.end(); ++call) {
    if (!call->starts_with("rename")) continue;
    const auto from = call->find(' ') + 1, to = call->find(' ', from) + 1;
    const std::string temporary = call->substr(from, to - from - 1);
    const std::string folder = fs::path(call->substr(to)).parent_path().string();
    if (!take(calls.begin(), call, "fsync " + temporary)) return "no fsync of the file before: " + *call;
    if (!take(call, calls.end(), "fsync " + folder)) return "no fsync of its folder after: " + *call;
  }
  return "";
}

}  // namespace

TEST_CASE("what misses in a log of system calls is found") {
  CHECK(missing_sync({"fsync /f/a.new", "rename /f/a.new /f/a", "fsync /f"}) == "");
  CHECK(missing_sync({"rename /f/a.new /f/a", "fsync /f/a.new", "fsync /f"}) != "");
  CHECK(missing_sync({"fsync /f", "fsync /f/a.new", "rename /f/a.new /f/a"}) != "");
  CHECK(missing_sync({"fsync /f/a.new", "rename /f/a.new /f/a", "fsync /f", "rename /f/a.new /f/a",
                      "fsync /f"}) != "");
}

TEST_CASE("a file and then its name are on the disk before a program goes on") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    const SystemCalls calls;
    REQUIRE(run(subject, train_tiny(subject) + Words{"run"}, folder).code == 0);
    const std::vector<std::string> made = calls.made();
    CHECK(missing_sync(made) == "");
    // Before a checkpoint the log that it has seen: each such rename has a sync of the log before it.
    const std::string folder_of_run = (fs::canonical(folder.path()) / "run").string();
    bool log_is_synced = false;
    for (const std::string& call : made) {
      log_is_synced |= call == "fsync " + folder_of_run + "/log.jsonl";
      if (!call.starts_with("rename") || !call.ends_with("/last.safetensors")) continue;
      CHECK_MESSAGE(log_is_synced, call);
      log_is_synced = false;
    }
    // Every file of a run's folder that is replaced whole (docs/run-folder.md); of the recipe: three checkpoints at least.
    for (const auto& [name, least] : std::map<std::string, int>{{"last.safetensors", 3},
                                                                {"best.safetensors", 1},
                                                                {"start.json", 1},
                                                                {"recipe.toml", 1},
                                                                {"report.json", 1},
                                                                {"report.html", 1}}) {
      const std::string path = (fs::canonical(folder.path()) / "run" / name).string();
      CAPTURE(path);
      CHECK(std::ranges::count_if(made, [&](const std::string& call) {
              return call.starts_with("rename") && call.ends_with(" " + path);
            }) >= least);
    }
  }
}
