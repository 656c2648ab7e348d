// evaluate --tune, as a user meets it: what it chooses, the line that it prints, searches that are killed, and what is refused.
#include <chrono>
#include <cmath>
#include <csignal>

#include <fmt/format.h>

#include "tests/examples/ptb.h"
#include "tests/support.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

const Words tune = {"evaluate", "model.safetensors", "--data", "text", "--tune"};

// A folder with texts, a model and its statistics.
const Folder& made() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny + "\n[schedule]\nkind = \"constant\"\n");
    folder.write("text/train.txt", lines_thrice(1, 150));
    folder.write("text/valid.txt", lines_thrice(2, 15));
    folder.write("text/test.txt", lines_thrice(3, 15));
    ptb_out({"train", "tiny.toml", "--out", "run", "--set", "data.corpus=text", "--data", "text"},
            folder.path());
    fs::copy(folder / "run/last.safetensors", folder / "model.safetensors");
    ptb_out({"evaluate", "model.safetensors", "--data", "text", "--dynamic"}, folder.path());
    return true;
  }();
  (void)done;
  return folder;
}
void copy_to(const Folder& folder) {
  fs::copy(made() / "text", folder / "text");
  for (const char* name : {"model.safetensors", "model.statistics.safetensors"})
    fs::copy(made() / name, folder / name);
}

void check_refused(const Words& words, const Folder& folder, const Words& parts) {
  const ProgramRun run = ptb(words, folder.path());
  CHECK_MESSAGE(run.code == 2, run.err);
  const auto lines = lines_of(run.err);
  CHECK(lacks(lines.empty() ? "" : lines.back(), parts) == "");
}

nlohmann::json search(const Words& more, const Folder& folder) {
  return ptb_json(tune + more, folder.path())["tune"];
}

}  // namespace

TEST_CASE(
    "--tune takes the best of each stage, reads the validation text alone, and prints the line that scores the test") {
  const Folder folder;
  copy_to(folder);
  const std::string model = read_text(folder / "model.safetensors");
  const std::string test = read_text(folder / "text/test.txt");
  fs::remove(folder / "text/test.txt");
  for (const std::string mode : {"full", "quick"}) {
    CAPTURE(mode);
    const auto found = search({mode}, folder);
    CHECK(read_text(folder / "model.safetensors") == model);
    CHECK(found["mode"] == mode);
    CHECK(found["tokens"] == 15 * 3 * 7);
    double best_rate = INFINITY, best_decay = INFINITY, best_temperature = INFINITY, best = INFINITY;
    int trials = 0, beyond = 0;
    std::string temperature, cache;
    for (const auto& trial : found["trials"]) {
      const std::string stage = trial["stage"], settings = trial["settings"];
      const double perplexity = trial["perplexity"];
      ++trials;
      if (stage == "static") CHECK(perplexity == found["static_perplexity"]);
      if (stage == "rate") best_rate = std::min(best_rate, perplexity);
      if (stage == "rate" && settings == "rate=0.00015,decay=0.002") ++beyond;
      if (stage == "decay") best_decay = std::min(best_decay, perplexity);
      if (stage == "temperature" && perplexity < best_temperature)
        best_temperature = perplexity, temperature = settings;
      if (stage == "cache" && perplexity < best) best = perplexity, cache = settings;
    }
    // A rate of 1e-4 is too small for a model that knows so little: the grid went on.
    CHECK(beyond == 1);
    CHECK(trials > (mode == "full" ? 60 : 30));
    CHECK(fmt::format("temperature={:g}", found["temperature"].get<double>()) == temperature);
    // The decay at which rates were tried is one of the decays.
    CHECK(best_temperature <= std::min(best_rate, best_decay));
    CHECK(best < best_temperature);
    const auto& c = found["cache"];
    CHECK(fmt::format("window={},theta={},lambda={}", c["window"].get<int>(), c["theta"].get<double>(),
                      c["lambda"].get<double>()) == cache);
    CHECK(found["perplexity"] == best);
    CHECK(found["perplexity"].get<double>() < found["static_perplexity"].get<double>());

    // The line that it prints scores the validation text as it was scored here, and the test text.
    const std::string line = found["command"];
    CHECK(line.find("--split") == std::string::npos);
    Words words;
    std::istringstream stream(line.substr(line.find("evaluate")));
    for (std::string word; stream >> word;) words.push_back(word);
    const auto valid = ptb_json(words + Words{"--split", "valid"}, folder.path());
    CHECK(valid["dynamic"]["perplexity_with_cache"].get<double>() == doctest::Approx(best).epsilon(1e-6));
    CHECK(valid["valid_perplexity"].get<double>() ==
          doctest::Approx(found["static_perplexity"].get<double>()).epsilon(1e-6));
    folder.write("text/test.txt", test);
    CHECK(ptb_json(words, folder.path())["dynamic"]["perplexity"].get<double>() > 1);
    fs::remove(folder / "text/test.txt");

    // Once more: nothing is left to try.
    const std::string table = read_text(folder / found["table"].get<std::string>());
    const auto again = ptb_json(tune + Words{mode}, folder.path());
    CHECK(again["tune"] == found);
    CHECK(again["tokens"] == 0);  // that were scored
    CHECK(read_text(folder / found["table"].get<std::string>()) == table);
  }
  // A cache that helps against temperature 1, and not against the chosen one, is none.
  auto trials = nlohmann::ordered_json::parse(read_text(folder / "model.tune-quick.json"));
  double plain = 0, least = INFINITY;
  for (const auto& trial : trials["trials"])
    if (trial["stage"] == "temperature") {
      least = std::min(least, trial["perplexity"].get<double>());
      if (trial["settings"] == "temperature=1") plain = trial["perplexity"];
    }
  REQUIRE(least < plain);
  const std::string table = read_text(folder / "model.tune-quick.json");
  for (auto& trial : trials["trials"])
    if (trial["stage"] == "cache") trial["perplexity"] = (least + plain) / 2;
  folder.write("model.tune-quick.json", trials.dump());
  const auto without = search({"quick"}, folder);
  CHECK(without["cache"].is_null());
  CHECK(without["perplexity"] == doctest::Approx(least));
  folder.write("model.tune-quick.json", table);

  const std::string said = ptb_out(tune + Words{"quick"}, folder.path());
  CHECK(said.find("trials were made before") != std::string::npos);
  CHECK(said.find("\nrate         rate=5e-05,decay=0.002 ") != std::string::npos);
  CHECK(said.find("\nnext ") != std::string::npos);
}

TEST_CASE(
    "the first 5,000 tokens of a text of documents are scored by a quick search as by the line that it prints") {
  const Folder folder;
  for (const std::string name : {"train", "valid", "test"}) {
    std::string text = name == "valid" ? "w0\n" : "";
    for (uint64_t document = 0; document < (name == "valid" ? 40 : 20); ++document)
      text += lines_thrice(10 + document, 7) + "\n";
    folder.write(fmt::format("text/{}.txt", name), text);
    // 2 + 714 times 7 tokens; a document more begins behind them
    std::string first;
    int lines = 0;
    for (const std::string& line : lines_of(text))
      if (lines < 715) first += line + "\n", lines += !line.empty();
    folder.write(fmt::format("first/{}.txt", name), name == "valid" ? first : text);
  }
  folder.write("tiny.toml", tiny + "\n[schedule]\nkind = \"constant\"\n");
  ptb_out({"train", "tiny.toml", "--out", "run", "--set", "data.corpus=text", "--set", "data.reset=document",
           "--data", "text"},
          folder.path());
  const auto found = ptb_json({"evaluate", "run/last.safetensors", "--data", "text", "--tune", "quick"},
                              folder.path())["tune"];
  REQUIRE_FALSE(found["cache"].is_null());
  CHECK(found["tokens"] == 5000);
  const std::string line = found["command"];
  Words words = {};
  std::istringstream stream(line.substr(line.find("evaluate")));
  for (std::string word; stream >> word;) words.push_back(word == "text" ? "first" : word);
  const auto valid = ptb_json(
      words + Words{"--split", "valid", "--statistics", "run/last.statistics.safetensors"}, folder.path());
  CHECK(valid["tokens"] == 5000);
  CHECK(valid["dynamic"]["perplexity_with_cache"].get<double>() ==
        doctest::Approx(found["perplexity"].get<double>()).epsilon(1e-6));
}

TEST_CASE("killed ten times, a search ends in the table of one that was not") {
  const Folder whole;
  copy_to(whole);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ptb_out(tune, whole.path());
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::string table = "model.tune.json", expected = read_text(whole / table);
  RandomStream random(3, "kills");
  int kills = 0, resumed = 0;
  while (kills < 10) {
    const Folder folder;
    copy_to(folder);
    int code = 128 + SIGKILL;
    while (kills < 10 && code == 128 + SIGKILL) {
      const auto end = Clock::now() + std::chrono::duration<double>(seconds / 3 * random.uniform());
      resumed += fs::exists(folder / table);
      code = run_program(program_named("ptb"), tune, folder.path(), {},
                         {SIGKILL, [&] { return Clock::now() >= end; }})
                 .code;
      kills += code == 128 + SIGKILL;
    }
    ptb_out(tune, folder.path());
    CHECK(read_text(folder / table) == expected);
  }
  CHECK(resumed > 0);
}

TEST_CASE("the line that --tune prints is quoted for a shell") {
  const Folder folder;
  copy_to(folder);
  fs::create_directory(folder / "my models");
  for (const char* name : {"model.safetensors", "model.statistics.safetensors"})
    fs::rename(folder / name, folder / "my models" / name);
  const auto json = ptb_json({"evaluate", "my models/model.safetensors", "--data", "text", "--tune", "quick"},
                             folder.path());
  CHECK(json["tune"]["command"].get<std::string>().find(
            "evaluate 'my models/model.safetensors' --data text ") != std::string::npos);
  CHECK(fs::exists(folder / "my models/model.tune-quick.json"));
}

TEST_CASE("what --tune refuses, in one line") {
  const Folder folder;
  copy_to(folder);
  for (const Words& other :
       {Words{"--split", "test"}, {"--temperature", "1"}, {"--cache", "theta=1"}, {"--dynamic"}})
    check_refused(tune + other, folder, {"--tune", other[0]});
  check_refused(tune + Words{"--batch", "2"}, folder, {"--tune needs --batch 1"});
  check_refused(Words{"evaluate", "model.safetensors", "--data", "text", "--tune=fast"}, folder,
                {"--tune 'fast' is none of full, quick"});
  ptb_out(tune + Words{"quick"}, folder.path());
  const std::string name = "model.tune-quick.json", table = read_text(folder / name);
  folder.write("text/valid.txt", lines_thrice(7, 15));
  check_refused(tune + Words{"quick"}, folder, {name, "another text"});
  fs::copy_file(made() / "text/valid.txt", folder / "text/valid.txt", fs::copy_options::overwrite_existing);
  // The table is read first: what it is refused for costs no statistics.
  fs::rename(folder / "model.statistics.safetensors", folder / "aside");
  folder.write(name, "{");
  check_refused(tune + Words{"quick"}, folder, {name});
  CHECK(!fs::exists(folder / "model.statistics.safetensors"));
  fs::rename(folder / "aside", folder / "model.statistics.safetensors");
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("{}"), table.substr(0, table.size() / 2),
        table.substr(0, table.find("\"trials\"")) + "\"trials\": [{\"stage\": 3}]}",
        table.substr(0, table.find("\"trials\"")) +
            R"("trials": [{"stage": "rate", "settings": "x", "perplexity": -1}]})"}) {
    folder.write(name, bad);
    check_refused(tune + Words{"quick"}, folder, {name});
  }
  folder.write(name, table);
  ptb_out({"train", "../" + made().path().filename().string() + "/tiny.toml", "--out", "other", "--set",
           "data.corpus=text", "--seed", "5", "--data", "text"},
          folder.path());
  fs::copy_file(folder / "other/last.safetensors", folder / "model.safetensors",
                fs::copy_options::overwrite_existing);
  check_refused(tune + Words{"quick"}, folder, {"model.statistics.safetensors", "another model"});
  fs::remove(folder / "model.statistics.safetensors");
  check_refused(tune + Words{"quick"}, folder, {name, "another model"});
}

TEST_CASE("--tune reads the statistics that it is told, and measures none") {
  const Folder folder;
  copy_to(folder);
  fs::rename(folder / "model.statistics.safetensors", folder / "told.safetensors");
  const std::string said = ptb_out(tune + Words{"quick", "--statistics", "told.safetensors"}, folder.path());
  CHECK_MESSAGE(said.find("made before: told.safetensors\n") != said.npos, said);
  CHECK(!fs::exists(folder / "model.statistics.safetensors"));
  CHECK_MESSAGE(said.find(" --statistics told.safetensors") != said.npos,
                said);  // so that the line scores with them
  // Trials are of their statistics.
  folder.write("text/train.txt", lines_thrice(8, 150));
  check_refused(tune + Words{"quick", "--statistics", "other.safetensors"}, folder,
                {"model.tune-quick.json", "another statistics"});
}

TEST_CASE("--tune goes on below a grid whose least value is the best, once where it is quick") {
  const Folder folder;
  copy_to(folder);
  search({"quick"}, folder);
  // As if the least rate had been by far the best.
  auto table = nlohmann::ordered_json::parse(read_text(folder / "model.tune-quick.json"));
  auto& trials = table["trials"];
  for (size_t k = trials.size(); k-- > 0;) {
    const std::string stage = trials[k]["stage"], settings = trials[k]["settings"];
    if (settings == "rate=3e-05,decay=0.002")
      trials[k]["perplexity"] = 1.5;
    else if (stage != "static" && (stage != "rate" || settings == "rate=0.00015,decay=0.002"))
      trials.erase(k);
  }
  folder.write("model.tune-quick.json", table.dump());
  const auto found = search({"quick"}, folder);
  std::vector<std::string> rates;
  for (const auto& trial : found["trials"])
    if (trial["stage"] == "rate") rates.push_back(trial["settings"].get<std::string>());
  CHECK(rates == Words{"rate=3e-05,decay=0.002", "rate=5e-05,decay=0.002", "rate=0.0001,decay=0.002",
                       "rate=2e-05,decay=0.002"});
  CHECK(found["rate"] == 3e-5);
  // Again, with the new one the best: the search is quick, and stops there.
  for (auto& trial : trials)
    if (trial["settings"] == "rate=3e-05,decay=0.002") trial["perplexity"] = 2;
  trials.push_back({{"stage", "rate"},
                    {"settings", "rate=2e-05,decay=0.002"},
                    {"perplexity", 1.5},
                    {"by_temperature", trials[1]["by_temperature"]}});
  folder.write("model.tune-quick.json", table.dump());
  const auto beyond = search({"quick"}, folder);
  CHECK(beyond["rate"] == 2e-5);
  for (const auto& trial : beyond["trials"])
    if (trial["stage"] == "rate")
      CHECK(trial["settings"].get<std::string>().find("rate=1") == std::string::npos);
}
