// Every option of recurrent layers in both programs: a key for each row of the table, that trains, and that resumes or not as the
// row says.
#include <fmt/format.h>

#include "tests/layers/lstm_cases.h"
#include "tests/program.h"
#include "training/program/recipe/recurrent_keys.h"

using namespace unroll;

namespace {

// Arguments that set the options of a configuration in a recipe.
Words set(const RecurrentConfig& config) {
  Words words;
  for (const RecurrentOption& option : recurrent_options)
    if (is_set(option, config) && &option != &option_named("bidirectional"))
      words = words + Words{"--set", fmt::format("model.{}={}", option.name, value_of(option, config))};
  return words;
}

struct Program {
  const char* name;
  Words train;
};
const Program programs[] = {
    {"ptb",
     {"train", "demo", "--set", "data.train_tokens=20000", "--set", "data.valid_tokens=500", "--set",
      "data.test_tokens=500", "--set", "model.forget_bias=0", "--set", "model.hidden=12", "--set", "model.embedding=12", "--set",
      "model.dropout=0"}},
    {"timeseries", {"train", "airline", "--set", "model.hidden=12", "--set", "model.dropout=0"}}};

}  // namespace

TEST_CASE("both programs train with every option that a cell has, and refuse the others by their names") {
  const Folder folder;
  for (const auto& [name, train] : programs)
    for (const CellFacts& cell : our_cells) {
      const Words begin = train + Words{"--dry-run", "--set", "model.layers=2", "--set",
                                        fmt::format("model.cell={}", cell.name)};
      for (const RecurrentConfig& config : options_alone(cell, {.hidden = 12, .layers = 2})) {
        if (config.bidirectional) continue;  // no key
        const ProgramRun found = run_program(program_named(name), begin + set(config), folder.path());
        CHECK_MESSAGE(found.code == 0, cell.name, " ", fmt::format("{}", fmt::join(set(config), " ")), ": ",
                      found.err);
      }
      for (const RecurrentOption& option : recurrent_options) {
        if (has_option(cell, option) || option.acts == RecurrentOption::Acts::at_first) continue;
        // Some value that is not the one of a plain layer.
        const std::vector<Unary> functions = functions_of(option);
        const std::string value = !functions.empty()                               ? name_of(functions.back())
                                  : option.range == RecurrentOption::Range::on_off ? "true"
                                  : option.range == RecurrentOption::Range::width  ? "6"
                                                                                   : "0.5";
        const ProgramRun found = run_program(
            program_named(name), begin + Words{"--set", fmt::format("model.{}={}", option.name, value)},
            folder.path());
        CHECK(found.code == 2);
        CHECK(lacks(found.err.substr(0, found.err.find('\n')), {option.name, cell.title, "no such thing"}) == "");
      }
    }
}

TEST_CASE("the table has each member once, and each row a documentation") {
  for (const RecurrentOption& option : recurrent_options) {
    CHECK(&option_named(option.name) == &option);
    CHECK(std::string_view(option.does).size() > 10);
    RecurrentConfig config;
    CHECK_FALSE(is_set(option, config));
    int alike = 0;
    for (const RecurrentOption& other : recurrent_options) alike += other.member == option.member;
    CHECK(alike == 1);
  }
}
