#include "examples/timeseries/guess/draft.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "examples/timeseries/files/series_file.h"
#include "framework/one_line.h"

namespace timeseries {

Draft::Draft(const std::filesystem::path& csv, const Wishes& wishes) : wishes_(wishes), early_(wishes) {
  guessed_.file.name = csv == standard_input      ? "input"
                       : csv.extension() == ".gz" ? csv.stem().stem().string()
                                                  : csv.stem().string();
  guessed_.file.origin = "the recipe guessed for " + name_of_series_file(csv);
  std::erase_if(early_.overrides, [](const Override& o) {
    constexpr std::array keys = {"data.file",       "data.separator",  "data.decimal",  "data.time",
                                 "data.date_order", "data.only",       "data.missing",  "data.gaps",
                                 "data.id",         "data.channels",
                                 "data.targets",    "data.categories", "data.period",   "data.second_period",
                                 "data.window",     "data.horizon",    "data.ets",      "data.thousands",
                                 "data.open_end"};
    return std::ranges::none_of(
        keys, [&](const char* key) { return o.assignment.starts_with(std::string(key) + "="); });
  });
}

void Draft::set(const std::string& section, const std::string& key, const std::string& value) {
  for (auto& [name, lines] : sections_) {
    if (name != section) continue;
    for (auto& line : lines)
      if (line.first == key) return void(line.second = value);
    return lines.push_back({key, value});
  }
  sections_.push_back({section, {{key, value}}});
}

void Draft::load_with(const Wishes& wishes) {
  std::string& text = guessed_.file.text;
  text.clear();
  for (const auto& [name, lines] : sections_) {
    text += fmt::format("[{}]\n", name);
    for (const auto& [key, value] : lines) text += fmt::format("{} = {}\n", key, value);
  }
  guessed_.recipe = load_guessed(guessed_.file, wishes);
}

void Draft::say(const Guess& guess) {
  const std::string key = guess.option.substr(0, guess.option.find('='));  // "--set data.window"
  if (!key.starts_with("--set ") || !says(wishes_, key.substr(6))) note(guess);
}

Recipe load_guessed(const RecipeFile& file, const Wishes& wishes) {
  Recipe recipe = load_recipe(file, wishes.overrides);
  recipe.name = file.name;
  return recipe;
}

std::string toml_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + toml_string(word);
  return "[" + text + "]";
}

bool says(const Wishes& wishes, const std::string& key) {
  return std::ranges::any_of(wishes.overrides,
                             [&](const Override& o) { return o.assignment.starts_with(key + "="); });
}

}  // namespace timeseries
