// "resume", of every program that trains: what is to be changed or to have more epochs goes on; what cannot says why.
// (Kills and signals: interrupted_test.cpp.)
#include <filesystem>

#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "tests/run_outcome.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("without its latest checkpoint a run is not begun again over what is left of it") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    fs::remove(folder / "whole/last.safetensors");
    const auto refused = [&](const std::vector<std::string>& parts) {
      const auto before = folder.listing();
      const ProgramRun resumed = run(subject, {"resume", "whole"}, folder);
      CHECK(resumed.code == 2);
      CHECK(lacks(resumed.err.substr(0, resumed.err.size() - 1), parts) == "");
      CHECK(folder.listing() == before);
    };
    refused({"whole/last.safetensors: is missing", "best.safetensors and a log of 3 epochs",
             "'cp whole/best.safetensors whole/last.safetensors'",
             subject.program + " train whole/recipe.toml"});
    fs::rename(folder / "whole/log.jsonl", folder / "log");
    refused({"is missing", "over best.safetensors;"});
    fs::rename(folder / "log", folder / "whole/log.jsonl");
    // The advice works.
    fs::copy_file(folder / "whole/best.safetensors", folder / "whole/last.safetensors");
    const ProgramRun resumed = run(subject, {"resume", "whole"}, folder);
    CHECK_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(outcome(folder / "whole") == outcome(trained(subject) / "whole"));
    for (const char* name : {"last.safetensors", "best.safetensors"}) fs::remove(folder / "whole" / name);
    refused({"is missing", "over a log of 3 epochs;", "train whole/recipe.toml"});
  }
}

TEST_CASE("a checkpoint within an epoch comes after so many steps, and after so many minutes") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    for (const auto& [steps, minutes, is_saved] :
         {std::tuple{"0", "0", false}, {"1", "0", true}, {"0", "1e-9", true}, {"1000", "1000", false}}) {
      // The second step diverges.
      const ProgramRun ended =
          run(subject,
              train_tiny(subject) + Words{fmt::format("saved-{}-{}", steps, minutes), "--set",
                                          "optimizer.kind=sgd", "--set", "optimizer.learning_rate=1e38",
                                          "--set", fmt::format("training.save_every_steps={}", steps),
                                          "--set", fmt::format("training.save_every_minutes={}", minutes)},
              folder);
      CHECK_MESSAGE(ended.err.find("diverged") != std::string::npos, ended.out, ended.err);
      CHECK(fs::exists(folder / fmt::format("saved-{}-{}/last.safetensors", steps, minutes)) == is_saved);
    }
  }
}

TEST_CASE("killed before its first checkpoint a run is begun again, or goes on from that of its best epoch") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words one = {"one", "--set", "training.epochs=1"};
    REQUIRE(run(subject, train_tiny(subject) + one, folder).code == 0);
    fs::remove(folder / "one/last.safetensors");  // as if it had been killed between the two
    const auto resume = [&] { return run(subject, {"resume", "one", "--set", "training.epochs=3"}, folder); };
    const ProgramRun second = resume();
    CHECK_MESSAGE(second.code == 0, second.err);
    CHECK(second.out.find("1 of 3 epochs complete") != std::string::npos);
    CHECK(outcome(folder / "one") == outcome(folder / "whole"));

    for (const char* name : {"last.safetensors", "best.safetensors", "log.jsonl"})
      fs::remove(folder / "one" / name);
    const ProgramRun first = resume();
    CHECK_MESSAGE(first.code == 0, first.err);
    CHECK(first.out.find("resumed from the beginning") != std::string::npos);
    CHECK(outcome(folder / "one") == outcome(folder / "whole"));
  }
}

TEST_CASE("a folder in which no run has begun can have one") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);
    for (const char* name : {"start.json", "start.json.unroll-partial", "recipe.toml.unroll-partial"})
      folder.write(fmt::format("run/{}", name), R"({"recipe": "tiny", "data": "", "threads": 1})");
    CHECK(run(subject, {"resume", "run"}, folder).code == 2);
    const Words train = train_tiny(subject) + Words{"run"};
    folder.write("run/mine.txt", "precious");
    CHECK(run(subject, train, folder).code == 2);
    fs::remove(folder / "run/mine.txt");
    folder.write("foreign/start.json", "{}");  // no file of ours
    CHECK(run(subject, train_tiny(subject) + Words{"foreign"}, folder).code == 2);
    const ProgramRun trained = run(subject, train, folder);
    CHECK_MESSAGE(trained.code == 0, trained.err);
    CHECK(!fs::exists(folder / "run/start.json.unroll-partial"));
  }
}

TEST_CASE("after an error that resuming would only repeat, nothing says to resume") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words resume = {"resume", "whole", "--set", "training.keep=best"};
    CHECK(run(subject, resume, folder).code == 0);
    fs::remove(folder / "whole/best.safetensors");
    const ProgramRun failed = run(subject, resume, folder);
    CHECK(failed.code == 2);
    CHECK(lacks(failed.err.substr(0, failed.err.size() - 1), {"whole/best.safetensors", "no such file"}) ==
          "");
    CHECK_MESSAGE(failed.out.find("next ") == std::string::npos, failed.out);
  }
}

TEST_CASE("what the file system refuses is said in its words, on one line") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    fs::create_symlink("loop", folder / "loop");
    const ProgramRun refused = run(subject, {"resume", "loop"}, folder);
    CHECK(refused.code == 2);
    CHECK(refused.err == subject.program + ": loop: Too many levels of symbolic links\n");
    fs::remove(folder / "loop");
  }
}

TEST_CASE("a run of one program is no run of another") {
  for (const bool swapped : {false, true}) {
    const Subject &own = subjects[swapped], &other = subjects[!swapped];
    const Copy folder(own);
    const ProgramRun refused = run(other, {"resume", "whole"}, folder);
    CHECK(refused.code == 2);
    CHECK(refused.err == fmt::format("{}: whole: a run of 'unroll {}', not of 'unroll {}'\n", other.program,
                                     own.program, other.program));
  }
}

TEST_CASE("a finished run says its results again; with more epochs it goes on") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const auto before = outcome(folder / "whole");
    const ProgramRun again = run(subject, {"resume", "whole"}, folder);
    CHECK(again.code == 0);
    for (const std::string& part : Words{"nothing is left to train"} + subject.results)
      CHECK_MESSAGE(again.out.find(part) != std::string::npos, again.out);
    CHECK(outcome(folder / "whole") == before);

    const ProgramRun more = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
    CHECK(more.code == 0);
    CHECK(more.out.find("training.epochs = 4, was 3") != std::string::npos);
    CHECK(more.out.find("bits") == std::string::npos);
    CHECK(more.out.find("epoch 4/4") != std::string::npos);
    // As if it had been meant to have four from the beginning.
    CHECK(run(subject, train_tiny(subject) + Words{"four", "--set", "training.epochs=4"}, folder).code == 0);
    CHECK(outcome(folder / "whole") == outcome(folder / "four"));
    CHECK(run(subject, {"resume", "whole"}, folder).out.find("was 3") ==
          std::string::npos);  // it is the run's recipe now
  }
}

TEST_CASE("a changed recipe or engine: goes on and says that the bits will differ") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const ProgramRun resumed =
        run(subject,
            Words{"resume", "whole", "--threads", "2", "--engine", "composed", "--set", "training.epochs=4"} +
                subject.changes,
            folder);
    CHECK(resumed.code == 0);
    for (const std::string& part :
         subject.told + Words{"engine fused then, composed now", "the bits will differ", "epoch 4/4"})
      CHECK_MESSAGE(resumed.out.find(part) != std::string::npos, resumed.out);
    CHECK(read_text(folder / "whole/recipe.toml").find("dropout = 0.1") != std::string::npos);
  }
}

TEST_CASE("resuming what cannot be resumed: exit code 2, one line, nothing changed") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
    const std::string good = read_text(folder / "whole/last.safetensors");
    const auto with_checkpoint = [&](const std::string& name, const std::string& contents) {
      fs::copy(folder / "whole", folder / name, fs::copy_options::recursive);
      folder.write(name + "/last.safetensors", contents);
    };
    with_checkpoint("cut", good.substr(0, good.size() / 2));
    std::string later = good;
    const std::string version = R"("checkpoint_version":"1")";
    REQUIRE(later.find(version) != std::string::npos);
    later.replace(later.find(version) + version.size() - 2, 1, "7");
    with_checkpoint("later", later);
    fs::create_directory(folder / "empty");
    std::vector<Case> cases = {{{"resume"}, {"DIR"}},
                               {{"resume", "nowhere"}, {"nowhere", "no such folder"}},
                               {{"resume", "empty"}, {"empty", subject.program + " train"}},
                               {{"resume", "cut"}, {"cut/last.safetensors", "cut off"}},
                               {{"resume", "later"}, {"later/last.safetensors", "version 7", "version 1"}},
                               {Words{"evaluate", "later/last.safetensors"} + subject.data, {"version 7"}},
                               {train_tiny(subject) + Words{"whole"}, {"whole", "resume"}}};
    cases.push_back({{"resume", "whole", "--set", "training.epochs=1"},
                     {"whole/last.safetensors: 3 epochs are complete", "training.epochs = 1"}});
    for (const Case& own : subject.refused)
      cases.push_back({Words{"resume", "whole"} + own.words, own.parts});
    const auto before = folder.listing();
    for (const Case& one : cases) {
      const ProgramRun refused = run(subject, one.words, folder);
      const std::string command =
          fmt::format("{} {}\n  -> {}", subject.program, fmt::join(one.words, " "), refused.err);
      CHECK_MESSAGE(refused.code == 2, command);
      const auto lines = lines_of(refused.err);
      REQUIRE_MESSAGE(lines.size() == 1, command);
      const std::string missing = lacks(lines[0], one.parts);
      CHECK_MESSAGE(missing.empty(), command, missing);
    }
    CHECK(folder.listing() == before);
  }
}

TEST_CASE("a run that goes on is one of the same data, first weights and threads, and says so again") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const Words words =
        train_tiny(subject) + Words{"next", "--set", "training.init_from=whole/best.safetensors"};
    REQUIRE(run(subject, words, folder).code == 0);
    const std::string start = read_text(folder / "next/start.json");
    const auto json = nlohmann::json::parse(start);
    CHECK(json["data"] == (folder / subject.data[1]).string());
    CHECK(json["init_from"] == (folder / "whole/best.safetensors").string());
    CHECK(json["threads"] == 1);
    for (const char* epochs : {"4", "5"}) {
      const ProgramRun more =
          run(subject, {"resume", "next", "--set", fmt::format("training.epochs={}", epochs)}, folder);
      CHECK_MESSAGE(more.code == 0, more.err);
      CHECK(read_text(folder / "next/start.json") == start);
    }
  }
}

TEST_CASE("two processes do not train in one folder") {
  for (const Subject& subject : subjects) {
    const Copy folder(subject);
    const int descriptor = open((folder / "whole").c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(flock(descriptor, LOCK_EX) == 0);
    const ProgramRun second = run(subject, {"resume", "whole"}, folder);
    close(descriptor);
    CHECK(second.code == 2);
    CHECK(lacks(lines_of(second.err).at(0), {"whole", "another process"}) == "");
  }
}

TEST_CASE("the log has every step and epoch, and the report is made from it again") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    int epochs = 0;
    for (const std::string& line : timeless_log(folder / "whole"))
      epochs += line.find("\"kind\":\"epoch\"") != std::string::npos;
    CHECK(epochs == 3);
    const std::string page = read_text(folder / "whole/report.html");
    for (const std::string& part : Words{"<svg", "tiny", "Parameters", "recipe.toml"})
      CHECK_MESSAGE(page.find(part) != std::string::npos, part);
    fs::remove(folder / "whole/report.html");
    CHECK(run(subject, {"report", "whole"}, folder).code == 0);
    CHECK(read_text(folder / "whole/report.html") == page);
  }
}

TEST_CASE("a run that lacks a file says which, and what can be done") {
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Copy folder(subject);
    const auto without = [&](const std::string& name, const Words& more = {}) {
      fs::rename(folder / "whole" / name, folder / "kept");
      const ProgramRun resumed = run(subject, Words{"resume", "whole"} + more, folder);
      fs::rename(folder / "kept", folder / "whole" / name);
      return resumed;
    };
    const ProgramRun no_start = without("start.json"), no_recipe = without("recipe.toml");
    CHECK(no_start.code == 2);
    CHECK(lacks(no_start.err.substr(0, no_start.err.find('\n')),
                {"whole/start.json: is missing",
                 subject.program + " train whole/recipe.toml', with the run's data"}) == "");
    CHECK(no_recipe.code == 2);
    CHECK(lacks(no_recipe.err.substr(0, no_recipe.err.find('\n')),
                {"whole/recipe.toml: is missing", subject.program + " train RECIPE'"}) == "");
    // The line that says how to begin again names the data.
    const std::string data = (folder / subject.data[1]).string();
    CHECK(lacks(lines_of(without("last.safetensors").err).back(),
                {"train whole/recipe.toml " + subject.data[0] + " ", subject.data[1] + "' begins"}) == "");

    const std::string warning = "warning whole/log.jsonl: is missing; what was measured so far";
    const ProgramRun finished = without("log.jsonl");
    CHECK_MESSAGE(finished.out.find(warning) != std::string::npos, finished.out);
    fs::remove(folder / "whole/log.jsonl");
    const ProgramRun more = run(subject, {"resume", "whole", "--set", "training.epochs=4"}, folder);
    CHECK_MESSAGE(more.out.find(warning) != std::string::npos, more.out);
    CHECK(read_text(folder / "whole/log.jsonl").find("\"epoch\":4") != std::string::npos);
  }
}

TEST_CASE("data that nobody named on resumption are not blamed") {
  const Subject& subject = subjects[0];
  REQUIRE(subject.program == "ptb");
  const Copy folder(subject);
  const ProgramRun run_on = run(subject, {"resume", "whole", "--set", "data.corpus=grammar"}, folder);
  CHECK(run_on.code == 2);
  CHECK_MESSAGE(
      run_on.err.find("its vocabulary is not that of sentences of the built-in grammar") != std::string::npos,
      run_on.err);
}
