// The functions of the Python package, without Python (packages_test.py has the package itself).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "packaging/python/functions.h"
#include "tests/program.h"

using namespace unroll;
using namespace unroll::python;

static std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_CASE("a text is scored as PyTorch scores it") {
  const std::string folder = "tests/fixtures/language_model/";
  const auto expected = nlohmann::json::parse(text_of(folder + "perplexity.json"));
  auto model = std::get<TextModel>(load(folder + "unroll.safetensors"));
  const auto [perplexity, tokens, unknown] = score_text(model, text_of(folder + "test.txt"));
  CHECK(std::abs(perplexity / expected["float64"].get<double>() - 1) < 1e-6);
  CHECK(tokens == expected["tokens"].get<int64_t>());
  CHECK(unknown == 1);
  CHECK(score_text(model, "the cat zebra sees") ==
        score_text(model, "the cat zebra sees\n"));  // a line ends in any case
  CHECK(std::get<1>(score_text(model, "the cat zebra sees")) == 5);
  CHECK_THROWS_WITH_AS(score_text(model, ""), "score: the text has no words", InputError);
  const Folder pages;
  const std::string page = pages / "look.html";
  look_at_text(model, "the cat sees the dog", page);
  CHECK(text_of(page).find("<!doctype html>") == 0);
  CHECK(text_of(page).find("<title>unroll: a look inside") != std::string::npos);
  CHECK_THROWS_AS(look_at_text(model, "the cat sees the dog", page), InputError);  // the file exists
}

TEST_CASE("documents of a text are scored as if each were alone, for a model of documents") {
  auto model = std::get<TextModel>(load("tests/fixtures/language_model/unroll.safetensors"));
  model.saved.recipe.data.reset = ptb::Reset::document;
  const std::string first = "the cat sees the dog\nthe dog sees the cat\n", second = "a dog sees\n";
  const auto [all, tokens, unknown] = score_text(model, first + "\n" + second);
  const auto [of_first, first_tokens, u1] = score_text(model, first);
  const auto [of_second, second_tokens, u2] = score_text(model, second);
  CHECK(tokens == first_tokens + second_tokens);
  const double apart = std::exp((static_cast<double>(first_tokens) * std::log(of_first) +
                                 static_cast<double>(second_tokens) * std::log(of_second)) /
                                static_cast<double>(tokens));
  CHECK(std::abs(all / apart - 1) < 1e-6);
  model.saved.recipe.data.reset = ptb::Reset::none;
  CHECK(std::abs(std::get<0>(score_text(model, first + second)) / apart - 1) >
        1e-6);  // the state is carried on
}

TEST_CASE("a file is forecast without a model, and what was guessed is told") {
  const Folder folder;
  const std::string csv = folder / "sales.csv";
  std::ofstream(csv) << "sales\n112\n118\n132\n129\n121\n135\n148\n148\n136\n";
  const auto found = nlohmann::json::parse(forecast_file(csv, 3, {}));
  REQUIRE(found["forecasts"].size() == 1);
  const auto& sales = found["forecasts"][0]["forecast"]["sales"];
  REQUIRE(sales["values"].size() == 3);
  for (size_t h = 0; h < 3; ++h) {
    CHECK(sales["low"][h] < sales["values"][h]);
    CHECK(sales["values"][h] < sales["high"][h]);
  }
  CHECK(found["notes"].dump().find("season: none (too few rows") != std::string::npos);
  CHECK_THROWS_AS(forecast_file(csv, 3, {"sale"}), InputError);
}

TEST_CASE("of a file the columns that are asked for are forecast, and what is odd in it is told") {
  const Folder folder;
  std::string text = "month,sales,cost\n";
  for (int i = 0; i < 72; ++i)
    text += fmt::format("{}-{:02},{},{}\n", 2015 + i / 12, i % 12 + 1, 100 + i + i % 12,
                        i == 14 ? 5e7 : 50 + i % 5);
  folder.write("two.csv", text);
  const auto found = [&](const std::vector<std::string>& columns) {
    return nlohmann::json::parse(forecast_file(folder / "two.csv", 2, columns));
  };
  const auto of_cost = found({"cost"}), of_both = found({});
  CHECK(of_cost["forecasts"][0]["forecast"].size() == 1);
  CHECK(of_cost["forecasts"][0]["forecast"]["cost"]["values"].size() == 2);
  CHECK(of_cost["forecasts"][0]["time"] == nlohmann::json{"2021-01", "2021-02"});
  CHECK(of_both["forecasts"][0]["forecast"].size() == 2);
  for (const auto& one : {of_cost, of_both})
    CHECK(one["notes"].dump().find("'cost' is 5e+07 at 2016-03, far outside of 50 to 54") !=
          std::string::npos);
  CHECK(found({"sales"})["notes"].dump().find("'cost'") == std::string::npos);
}

TEST_CASE("a model of a series forecasts what the program forecasts with it, and is looked at") {
  const Folder folder;
  std::string text = "month,sales,cost\n";
  for (int i = 0; i < 72; ++i)
    text += fmt::format("{}-{:02},{},{}\n", 2015 + i / 12, i % 12 + 1, 100 + i + i % 12, 50 + i % 5);
  folder.write("two.csv", text);
  folder.write("other.csv", text.substr(0, text.find("2020-06")));
  folder.write("net.toml", "[model]\nhidden = 3\n[data]\nfile = \"" + (folder / "two.csv").string() +
                               "\"\nwindow = 6\nhorizon = 2\n[training]\nepochs = 1\n");
  const auto program = [&](const Words& words) {
    return output_of(run_program(program_named("timeseries"), words, folder.path()));
  };
  program({"train", "net.toml", "--out", "run", "--threads", "1"});
  const std::string file = folder / "run/last.safetensors";
  const auto model = std::get<SeriesModel>(load(file));
  for (const auto& [csv, steps] : {std::pair<std::string, int>{"", 0}, {"", 5}, {folder / "other.csv", 0}}) {
    const auto found = nlohmann::json::parse(forecast_by_model(model, csv, steps, ""));
    Words words = {"forecast", "run/last.safetensors", "--json"};
    if (!csv.empty()) words = words + Words{"--csv", csv};
    if (steps > 0) words = words + Words{"--steps", std::to_string(steps)};
    const auto wanted = nlohmann::json::parse(program(words));
    CHECK(found["forecasts"] == wanted);
    CHECK(wanted[0]["time"].size() == (steps > 0 ? 5 : 2));
    CHECK(wanted[0]["time"][0] == (csv.empty() ? "2021-01" : "2020-06"));
  }
  look_at_series(model, "", folder / "look.html", "", "", "");
  CHECK(text_of(folder / "look.html").find("<title>last: a look inside") != std::string::npos);
  std::string message;
  try {
    look_at_series(model, "", folder / "look.html", "", "", "");
  } catch (const InputError& error) { message = error.what(); }
  CHECK_MESSAGE(message.ends_with("is there already; nothing is overwritten (path=FILE names another)"),
                message);
}

TEST_CASE(
    "a model of several series is looked at by a series' name, a row and a column; messages name arguments") {
  const Folder folder;
  std::string text = "shop,month,sales,cost\n";
  for (const char* shop : {"north", "south"})
    for (int i = 0; i < 60; ++i)
      text +=
          fmt::format("{},{}-{:02},{},{}\n", shop, 2015 + i / 12, i % 12 + 1, 100 + i + i % 12, 50 + i % 5);
  folder.write("shops.csv", text);
  folder.write("net.toml", "[model]\nhidden = 3\n[data]\nfile = \"" + (folder / "shops.csv").string() +
                               "\"\nid = \"shop\"\nwindow = 6\nhorizon = 2\n[training]\nepochs = 1\n");
  output_of(run_program(program_named("timeseries"), {"train", "net.toml", "--out", "run", "--threads", "1"},
                        folder.path()));
  const auto model = std::get<SeriesModel>(load(folder / "run/last.safetensors"));
  const auto look = [&](const std::string& series, const std::string& at, const std::string& target) {
    const std::string page = folder / fmt::format("{}{}.html", series, at);
    look_at_series(model, "", page, series, at, target);
    return text_of(page);
  };
  const auto refused = [&](const std::string& series, const std::string& at, const std::string& target) {
    try {
      look(series, at, target);
    } catch (const InputError& error) { return std::string(error.what()); }
    return std::string();
  };
  CHECK(look("north", "2019-03", "cost").find("2019-03") != std::string::npos);
  CHECK(look("south", "", "") != look("south", "2019-03", ""));
  for (const auto& [message, part] :
       {std::pair{refused("", "", ""), "series=NAME says which, as in series=north"},
        {refused("east", "", ""), "east"},
        {refused("north", "1999-03", ""), "at=1999-03 is not the time of a row"},
        {refused("north", "", "shop"), "shop"}})
    CHECK_MESSAGE((message.find(part) != std::string::npos && message.find("--") == std::string::npos),
                  message);
}

TEST_CASE("docs/packages.md shows what the program and the package forecast") {
  const Folder folder;
  const std::vector<std::string> page = lines_of(text_of("docs/packages.md"));
  // Numbers that a line separates by commas, but for their last digits: other processors round otherwise.
  const auto check = [](const std::string& found, const std::string& shown) {
    std::istringstream a(found), b(shown);
    std::string one, other;
    while (std::getline(b, other, ',')) {
      REQUIRE(std::getline(a, one, ','));
      const bool number = other.find_first_not_of("0123456789. ") == std::string::npos;
      CHECK_MESSAGE((number ? std::abs(std::stod(one) / std::stod(other) - 1) < 1e-3 : one == other), found,
                    ": ", shown);
    }
  };
  int commands = 0, calls = 0;
  for (size_t at = 0; at < page.size(); ++at) {
    const std::string& line = page[at];
    if (line.starts_with("$ echo sales ")) {
      const std::string path = std::filesystem::path(program_named("timeseries")).parent_path().string(),
                        docker = "docker run -i --rm unroll ";
      std::string command = line.substr(2);
      if (const size_t in = command.find(docker); in != command.npos) command.erase(in, docker.size());
      const std::vector<std::string> printed = lines_of(
          output_of(run_program("/bin/sh", {"-c", "PATH=" + path + ":$PATH; " + command}, folder.path())));
      REQUIRE(printed.size() == 4);
      for (const std::string& one : printed) check(one, page.at(++at));
      ++commands;
    } else if (line.starts_with("$ python3 -c 'import unroll")) {
      const size_t values = line.find("forecast([") + 10;
      std::string csv = "value\n" + line.substr(values, line.find(']', values) - values) + "\n";
      std::ranges::replace(csv, ',', '\n');
      folder.write("values.csv", csv);
      const auto found = nlohmann::json::parse(forecast_file(folder / "values.csv", 3, {}));
      std::string printed;
      for (const double value : found["forecasts"][0]["forecast"]["value"]["values"])
        printed += fmt::format("{}{:.1f}", printed.empty() ? "" : ", ", value);
      const std::string& shown = page.at(++at);
      check(printed, shown.substr(1, shown.size() - 2));
      ++calls;
    }
  }
  CHECK(commands == 2);
  CHECK(calls == 1);
}

TEST_CASE("a file that is no model of a program is refused") {
  CHECK_THROWS_WITH_AS(
      load("tests/fixtures/language_model/torch.safetensors"),
      "tests/fixtures/language_model/torch.safetensors: not a model of ptb or timeseries: their files "
      "name the program in their metadata",
      InputError);
  CHECK_THROWS_AS(load("tests/fixtures/language_model/vocabulary.txt"), InputError);
}
