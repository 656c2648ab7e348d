// The words after a subcommand.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ptb {

using Arguments = std::vector<std::string>;

// What a subcommand accepts, and what was given.
class Options {
 public:
  // `positional` is the one word that is not an option ("RECIPE"); it must be given.
  Options(std::string command, std::string positional, std::string description);

  // Declares options: options.add()("words", po::value(&words), "how many words").
  boost::program_options::options_description_easy_init add() { return described_.add_options(); }

  // Throws InputError. False if help was asked for: it is printed then.
  bool parse(const Arguments& arguments);

  const std::string& positional() const { return value_; }
  bool given(const std::string& name) const { return found_.count(name) > 0 && !found_[name].defaulted(); }

 private:
  std::string command_, positional_, description_, value_;
  boost::program_options::options_description described_{"Options"};
  boost::program_options::variables_map found_;
};

}  // namespace ptb
