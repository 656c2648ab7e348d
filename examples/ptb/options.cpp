#include "options.h"

#include <algorithm>

#include <fmt/ostream.h>

#include "framework/check.h"
#include "training/recipe_reader.h"

template <>
struct fmt::formatter<boost::program_options::options_description> : fmt::ostream_formatter {};

namespace ptb {

namespace po = boost::program_options;

Options::Options(std::string command, std::string positional, std::string description)
    : command_(std::move(command)), positional_(std::move(positional)), description_(std::move(description)) {
  described_.add_options()("help,h", "print this");
}

bool Options::parse(const Arguments& arguments) {
  if (std::ranges::find(arguments, "--help") != arguments.end() ||
      std::ranges::find(arguments, "-h") != arguments.end()) {
    fmt::print("usage: ptb {} {} [options]\n\n{}\n\n{}", command_, positional_, description_, described_);
    return false;
  }
  po::options_description all;
  std::vector<std::string> words;
  all.add(described_).add_options()("positional", po::value(&words));
  po::positional_options_description places;
  places.add("positional", -1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(all).positional(places).style(style).run(), found_);
    po::notify(found_);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const auto& option : described_.options()) names.push_back("--" + option->long_name());
    const std::string meant = unroll::nearest(error.get_option_name(), names);
    throw unroll::InputError(fmt::format("{}: there is no option '{}'{}", command_, error.get_option_name(),
                                         meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
  } catch (const po::error& error) {
    throw unroll::InputError(fmt::format("{}: {}", command_, error.what()));
  }
  unroll::require_input(!words.empty(), "{}: {} is missing; 'ptb {} --help' explains", command_, positional_,
                        command_);
  unroll::require_input(words.size() == 1, "{}: one {} is expected, '{}' is too much", command_, positional_,
                        words.size() > 1 ? words[1] : "");
  value_ = words[0];
  return true;
}

}  // namespace ptb
