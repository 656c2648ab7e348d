// The functions of the Python package, without Python (packages_test.py has the package itself).
#include <cmath>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "packaging/python/functions.h"
#include "tests/folder.h"

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
  CHECK_THROWS_WITH_AS(score_text(model, ""), "score: the text has no words", InputError);
  const Folder pages;
  const std::string page = pages / "look.html";
  look_at_text(model, "the cat sees the dog", page);
  CHECK(text_of(page).find("<!doctype html>") == 0);
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

TEST_CASE("a file that is no model of a program is refused") {
  CHECK_THROWS_WITH_AS(
      load("tests/fixtures/language_model/torch.safetensors"),
      "tests/fixtures/language_model/torch.safetensors: not a model of ptb or timeseries: their files "
      "name the program in their metadata",
      InputError);
  CHECK_THROWS_AS(load("tests/fixtures/language_model/vocabulary.txt"), InputError);
}
