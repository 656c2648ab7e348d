// Files of `ptb train` in a run's folder, and its messages while it goes on.
#include <algorithm>
#include <cmath>
#include <functional>

#include <nlohmann/json.hpp>

#include "data/text/grammar.h"
#include "framework/check.h"
#include "tests/program.h"
#include "training/report/log.h"
#include "training/report/run_description.h"

using namespace unroll;

namespace {

// 40 windows an epoch.
const std::string tiny = R"([model]
embedding = 8
hidden = 8
layers = 1

[data]
corpus = "grammar"
train_tokens = 20_000
valid_tokens = 300
test_tokens = 300
batch = 50
bptt = 10

[training]
epochs = 2
clip = 1.0
reduction = "mean"

[optimizer]
kind = "adam"
learning_rate = 0.01
)";

struct Trained {
  Folder folder;
  ProgramRun run;
  explicit Trained(const Words& words) {
    folder.write("tiny.toml", tiny);
    Words all = {"train", "tiny.toml", "--out", "run"};
    all.insert(all.end(), words.begin(), words.end());
    run = run_program(program_named("ptb"), all, folder.path());
    CHECK_MESSAGE(run.code == 0, run.err);
  }
  std::string page() const { return read_text(folder / "run/report.html"); }
  std::vector<LogRecord> log() const {
    return read_log(folder / "run/log.jsonl", {.unit = "words", .perplexity = true});
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string unescaped(std::string html) {
  for (const auto& [escaped, plain] :
       {std::pair{"&#39;", "'"}, {"&quot;", "\""}, {"&lt;", "<"}, {"&gt;", ">"}})
    for (size_t k = html.find(escaped); k != html.npos; k = html.find(escaped))
      html.replace(k, std::string(escaped).size(), plain);
  return html;
}

// The report's table of the most surprising words.
std::string surprises_of(const std::string& page) {
  const size_t at = page.find("<h2>The most surprising words</h2>");
  REQUIRE(at != page.npos);
  return page.substr(at, page.find("</section>", at) - at);
}

// Each word has those of its own text before it.
void check_words_before(const std::string& table, const std::string& text) {
  for (size_t row = table.find("<tr><td"); row != table.npos; row = table.find("<tr><td", row + 1)) {
    std::vector<std::string> cells;
    for (size_t cell = table.find("<td", row), end = table.find("</tr>", row); cell < end;
         cell = table.find("<td", cell + 1)) {
      const size_t begin = table.find('>', cell) + 1;
      cells.push_back(unescaped(table.substr(begin, table.find('<', begin) - begin)));
    }
    REQUIRE(cells.size() == 4);
    if (cells[3] != "the end of a line")
      CHECK_MESSAGE(has(text, cells[3] + " " + cells[1] + " "), cells[3], " ", cells[1]);
  }
}

}  // namespace

TEST_CASE("the log has an interval for each --log-every steps and a record for each epoch; TensorBoard too") {
  const Trained trained({"--log-every", "15"});
  std::vector<std::string> lines;
  for (const LogRecord& r : trained.log())
    lines.push_back(fmt::format("{} {} {} {}", r.kind == LogRecord::Kind::epoch ? "epoch" : "interval",
                                r.epoch, r.step, r.count));
  CHECK(lines == std::vector<std::string>{"interval 1 15 7500", "interval 1 30 15000", "epoch 1 40 20000",
                                          "interval 2 45 22500", "interval 2 60 30000", "interval 2 75 37500",
                                          "epoch 2 80 40000"});
  for (const LogRecord& r : trained.log()) {
    CHECK(r.loss > 0);
    CHECK(r.learning_rate == 0.01);
    CHECK(r.gradient_norm.has_value() == (r.kind == LogRecord::Kind::interval));
    CHECK(r.valid.has_value() == (r.kind == LogRecord::Kind::epoch));
  }
  CHECK(std::filesystem::file_size(trained.folder / "run/events.out.tfevents.0001") > 500);
  CHECK(has(read_text(trained.folder / "run/recipe.toml"), "log_every = 15"));
}

TEST_CASE("the report of a run is there at its end, and made again from the folder with the same bytes") {
  const Trained trained({});
  const std::string page = trained.page();
  for (const std::string part : {"<h1>run</h1>", "validation perplexity", "embedding.weight",
                                 "the best possible", "trigram", "fused, because", "test perplexity",
                                 "peak memory", "ptb train --profile measures it", "hidden = 8", "[model]"})
    CHECK_MESSAGE(has(page, part), part);
  // In the picture of valid scores stands the trigram's perplexity of that split, not the test's.
  const auto counted = [&](const std::string& split) {
    const std::string of_split = trained.run.out.substr(trained.run.out.find("\n" + split + " "));
    return std::stod(of_split.substr(of_split.find("trigram ") + 8));
  };
  CHECK(counted("valid") != counted("test"));
  const auto levels = read_run_description(trained.folder / "run").levels;
  const auto drawn = std::ranges::find_if(levels, [](const auto& level) { return level.name == "trigram"; });
  REQUIRE(drawn != levels.end());
  CHECK(std::abs(drawn->score - counted("valid")) < 0.006);
  const auto source = [&](const std::string& split) {
    const std::string of_split = trained.run.out.substr(trained.run.out.find("\n" + split + " "));
    return of_split.substr(of_split.find("own is ") + 7, of_split.find(": ") - of_split.find("own is ") - 7);
  };
  CHECK(source("valid") != source("test"));
  const auto best =
      std::ranges::find_if(levels, [](const auto& level) { return level.name == "the best possible"; });
  REQUIRE(best != levels.end());
  CHECK(fmt::format("{:.2f}", best->score) == source("valid"));
  const auto results = read_run_description(trained.folder / "run").results;
  const auto of_test =
      std::ranges::find_if(results, [](const auto& figure) { return figure.name == "test perplexity"; });
  REQUIRE(of_test != results.end());
  CHECK(of_test->note == "the source's own: " + source("test"));
  CHECK(has(trained.run.out, "report  run/report.html"));
  CHECK(has(trained.run.out, "memory  "));
  std::filesystem::remove(trained.folder / "run/report.html");
  const ProgramRun again = run_program(program_named("ptb"), {"report", "run"}, trained.folder.path());
  CHECK(again.code == 0);
  CHECK(again.out == "run/report.html\n");
  CHECK(trained.page() == page);
  CHECK(run_program(program_named("ptb"), {"report", "nothing"}, trained.folder.path()).code == 2);
  // The other program does not make it.
  const ProgramRun other = run_program(program_named("timeseries"), {"report", "run"}, trained.folder.path());
  CHECK(other.code == 2);
  CHECK(has(other.err, "run: a run of 'unroll ptb', not of 'unroll timeseries'"));
}

TEST_CASE("report --plot draws the main curve of a run as a picture that needs no page around it") {
  const Trained trained({});
  const auto report = [&](const Words& words) {
    return run_program(program_named("ptb"), Words{"report", "run"} + words, trained.folder.path());
  };
  const ProgramRun drawn = report({"--plot", "curve.svg"});
  CHECK_MESSAGE(drawn.code == 0, drawn.err);
  const std::string picture = read_text(trained.folder / "curve.svg");
  CHECK(picture.starts_with("<svg xmlns"));
  for (const std::string part : {"run: perplexity while it trains", "training", "class=\"level\"",
                                 "the best possible", "best ", "fill=\"#fff\"", "stroke:#2b67a8"})
    CHECK_MESSAGE(has(picture, part), part);
  for (const std::string part : {"<script", "var(--", "href"}) CHECK_MESSAGE(!has(picture, part), part);

  const ProgramRun again = report({"--plot", "curve.svg"});
  CHECK(again.code == 2);
  CHECK(has(again.err, "report: curve.svg is there already; nothing is overwritten (--plot FILE names another)"));
  trained.folder.write("run/log.jsonl", "");
  const ProgramRun empty = report({"--plot", "empty.svg"});
  CHECK(empty.code == 2);
  CHECK(has(empty.err, "run/log.jsonl: nothing is in the log yet"));
  CHECK(!std::filesystem::exists(trained.folder / "empty.svg"));
}

TEST_CASE("a training that ends early says why, and what it says of its weights is of those that it keeps") {
  for (const std::string keep : {"best", "last"}) {
    const int patience = keep == "best" ? 2 : 1;
    const Trained trained({"--json", "--seed", "3", "--set", "training.keep=" + keep, "--set", "training.epochs=20", "--set",
                           fmt::format("training.patience={}", patience), "--set", "optimizer.learning_rate=1"});  // which learns little, and soon
    std::vector<LogRecord> epochs = trained.log();
    std::erase_if(epochs, [](const LogRecord& r) { return r.kind != LogRecord::Kind::epoch; });
    const LogRecord& best = *std::ranges::min_element(epochs, {}, [](const LogRecord& r) { return *r.valid; });
    const LogRecord &last = epochs.back(), &kept = keep == "best" ? best : last;
    REQUIRE(epochs.size() < 20);
    CHECK(last.epoch == best.epoch + patience);
    CHECK(has(trained.run.err, fmt::format("\nended   {} without a better valid score\n", patience == 2 ? "2 epochs" : "1 epoch")));
    CHECK(has(trained.run.err, fmt::format("\nweights of epoch {}, the best on the valid split\n", best.epoch)) ==
          (keep == "best"));
    CHECK(has(trained.run.err, fmt::format("\nvalid   perplexity {:.2f}, ", *kept.valid)));
    CHECK(has(trained.run.err, "\nmodel   run/" + keep + ".safetensors\n"));
    const auto told = nlohmann::json::parse(trained.run.out);
    CHECK(told["epochs"] == epochs.size());
    CHECK(told["seed"] == 3);
    CHECK(told["valid_perplexity"] == *kept.valid);
    CHECK(told["train_perplexity"].get<double>() == doctest::Approx(std::exp(last.loss)));
    CHECK(told["tokens"] == last.count);
    CHECK(told["words_per_second"].get<double>() ==
          doctest::Approx(static_cast<double>(last.count) / told["seconds"].get<double>()));
    const ProgramRun scored = run_program(
        program_named("ptb"), {"evaluate", "run/" + keep + ".safetensors", "--json"}, trained.folder.path());
    CHECK(nlohmann::json::parse(scored.out)["test_perplexity"] == told["test_perplexity"]);
    const std::string page = trained.page();
    CHECK(has(page, fmt::format("<dt>validation, best</dt><dd class=\"value\">{:.2f}</dd><dd>perplexity, after epoch {}</dd>",
                                *best.valid, best.epoch)));
    const int64_t numbers = told["parameters"];  // float32
    CHECK(has(page, fmt::format("<dt>parameters</dt><dd class=\"value\">{:.2f}k</dd><dd>{:.1f}kB</dd>",
                                1e-3 * static_cast<double>(numbers), 4e-3 * static_cast<double>(numbers))));
  }
}

TEST_CASE("steps that are left out are told one by one, and counted at the end") {
  const Folder folder;
  std::string rows = "t,y\n";
  for (int i = 0; i < 120; ++i) rows += fmt::format("{},{}\n", i, i == 20 ? "1e30" : std::to_string(i % 5));
  folder.write("huge.csv", rows);
  folder.write("huge.toml",
               "[model]\nhidden = 3\n[data]\nfile = \"huge.csv\"\ntime = \"t\"\nwindow = 4\nhorizon = 2\nbatch = 4\n"
               "[scaling]\nkind = \"none\"\n[training]\nepochs = 2\non_divergence = \"skip\"\n");
  const ProgramRun run = run_program(program_named("timeseries"), {"train", "huge.toml", "--out", "run"}, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto lines = lines_of(run.out);
  const auto told = std::ranges::count_if(lines, [](const std::string& line) {
    return line.starts_with("left out: training has diverged: step ") && has(line, "the loss is inf (epoch ");
  });
  CHECK(told > 1);
  CHECK_MESSAGE(std::ranges::count(lines, fmt::format("skipped {} steps that were not finite", told)) == 1, run.out);
}

TEST_CASE("--profile: a table of operations at the end, and in the report") {
  const Trained trained({"--profile"});
  for (const std::string& text : {trained.run.out, trained.page()})
    for (const std::string part : {"lstm_layer_fused", "softmax_cross_entropy", "optimizer step",
                                   "validation", "checkpoint", "everything else", "GFLOP/s"})
      CHECK_MESSAGE(has(text, part), part);
  CHECK(!has(trained.page(), "measures it"));
}

TEST_CASE("a finished run that says its results again keeps what was measured while it trained") {
  const Trained trained({"--profile"});
  const std::string page = trained.page(), description = read_text(trained.folder / "run/report.json");
  const ProgramRun again = run_program(program_named("ptb"), {"resume", "run"}, trained.folder.path());
  CHECK(again.code == 0);
  CHECK(trained.page() == page);
  CHECK(read_text(trained.folder / "run/report.json") == description);
  // A run that trains on without --profile has no profile, and its page says which command measures it.
  const ProgramRun more = run_program(program_named("ptb"), {"resume", "run", "--set", "training.epochs=3"},
                                      trained.folder.path());
  CHECK(more.code == 0);
  CHECK(has(trained.page(), "measures it"));
}

TEST_CASE("--quiet: the results, and nothing before them") {
  const Trained loud({}), quiet({"--quiet"});
  CHECK(has(loud.run.out, "epoch 1/2"));
  CHECK(lines_of(quiet.run.out).size() < 15);
  for (const std::string part : {"epoch 1/2", "recipe  ", "engine  ", "folder  "})
    CHECK_MESSAGE(!has(quiet.run.out, part), part);
  for (const std::string part : {"valid   perplexity", "test    perplexity", "model   run/last.safetensors"})
    CHECK_MESSAGE(has(quiet.run.out, part), part);
  const Trained json({"--quiet", "--json"});
  CHECK(lines_of(json.run.out).size() == 1);
}

TEST_CASE("the report has the words that surprised most, and a command to look inside that works") {
  const Trained trained({"--set", "training.surprising_words=5", "--set", "data.eval_batch=7"});
  const std::string page = trained.page();
  const std::string table = surprises_of(page);
  std::vector<double> bits;
  for (size_t row = table.find("<tr><td"); row != table.npos; row = table.find("<tr><td", row + 1))
    bits.push_back(std::stod(table.substr(table.find('>', row + 4) + 1)));
  CHECK(bits.size() == 5);
  CHECK(std::ranges::is_sorted(bits, std::greater()));
  CHECK(bits.back() > 1);
  // Streams are read side by side, and each word has those of its own stream before it.
  const Corpus text = generate_grammar_corpus(1, {.train = 20'000, .valid = 300, .test = 300}).corpus;
  std::string valid;
  for (const int32_t id : text.valid) valid += text.vocabulary.word(id) + " ";
  check_words_before(table, valid);
  const size_t look = page.find(" look run/last.safetensors --text ");
  REQUIRE(look != page.npos);
  const std::string command =
      program_named("ptb") + unescaped(page.substr(look, page.find("</p>", look) - look));
  const ProgramRun looked = run_program("/bin/sh", {"-c", command}, trained.folder.path());
  CHECK_MESSAGE(looked.code == 0, command, ": ", looked.err);
  CHECK(std::filesystem::exists(trained.folder / "look.html"));
  const Trained none({"--set", "training.surprising_words=0"});
  CHECK_FALSE(has(none.page(), "most surprising"));
  CHECK(has(none.page(), " look run/last.safetensors --text "));
}

TEST_CASE("of a long sentence the report has the words just before the one that surprised") {
  RandomStream random(1, "sentences");
  const Folder folder;
  std::string valid;
  for (const char* split : {"train", "valid", "test"}) {
    std::string text;
    for (int word = 1; word <= 40 * 40; ++word)
      text += fmt::format("w{}{}", random.below(30), word % 40 ? " " : "\n");
    folder.write(fmt::format("text/{}.txt", split), text);
    for (size_t end = text.find('\n'); split[0] == 'v' && end != text.npos; end = text.find('\n'))
      text.replace(end, 1, " <eos> "), valid = text;
  }
  folder.write("tiny.toml", tiny);
  const ProgramRun run = run_program(program_named("ptb"),
                                     {"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text",
                                      "--set", "training.surprising_words=20", "--out", "run"},
                                     folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  check_words_before(surprises_of(read_text(folder / "run/report.html")), valid);

  // If no word surprises, the beginning of the first sentence is to be looked at: twelve words, or sixty characters.
  std::string first = valid.substr(0, valid.find(" <eos>")), twelve = first;
  for (size_t end = 0, words = 0; words < 12; ++words)
    end = first.find(' ', end + 1), twelve = first.substr(0, end);
  for (const std::string level : {"word", "char"}) {
    const auto train = [&](const std::string& count) {
      const std::string out = level + count;
      const ProgramRun done = run_program(
          program_named("ptb"),
          {"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--set", "training.epochs=1",
           "--set", "data.level=" + level, "--set", "training.surprising_words=" + count, "--out", out},
          folder.path());
      CHECK_MESSAGE(done.code == 0, done.err);
      return unescaped(read_text(folder / out / "report.html"));
    };
    CHECK(has(train("0"), "--text '" + (level == "word" ? twelve : first.substr(0, 60)) + "'"));
    if (level == "char") CHECK(has(train("3"), "<h2>The most surprising characters</h2>"));
  }
}

TEST_CASE("samples are written after the epochs that the recipe asks for, and change nothing") {
  const Trained with({"--set", "training.sample_every_epochs=2", "--set", "training.sample_words=5"}),
      without({});
  const auto lines = lines_of(with.run.out);
  const auto is_sample = [](const std::string& line) { return line.starts_with("        | "); };
  const auto first = std::ranges::find_if(lines, is_sample);
  REQUIRE(first != lines.end());
  CHECK((first - 1)->starts_with("epoch 2/2"));
  CHECK(std::ranges::count_if(lines_of(without.run.out), is_sample) == 0);
  const auto losses = [](const Trained& trained) {
    std::vector<double> result;
    for (const LogRecord& r : trained.log()) result.push_back(r.loss);
    return result;
  };
  CHECK(losses(with) == losses(without));
  // In the report, too.
  const std::string written = first->substr(10), page = with.page();
  CHECK(has(page, "<dt>epoch 2</dt><dd>" + written.substr(0, written.find_first_of("<&'\""))));
  CHECK_FALSE(has(without.page(), "What it wrote"));
}
