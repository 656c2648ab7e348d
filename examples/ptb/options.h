// The words after a subcommand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

namespace ptb {

using Arguments = std::vector<std::string>;

// What a subcommand accepts, and what was given.
class Options {
 public:
  // `positional` is the one word that is not an option ("RECIPE"); it must be given.
  Options(std::string command, std::string positional, std::string description);

  // An option with a value: options.add("words", words, "N", "how many words"). The variable holds the
  // default.
  template <class T>
  void add(const char* name, T& variable, const char* value_name, const char* description) {
    described_.add_options()(name, boost::program_options::value(&variable)->value_name(value_name),
                             description);
  }
  // An option that is there or not.
  void add(const char* name, bool& variable, const char* description) {
    described_.add_options()(name, boost::program_options::bool_switch(&variable), description);
  }

  // Throws InputError. False if help was asked for: it is printed then.
  bool parse(const Arguments& arguments);

  const std::string& positional() const { return value_; }
  bool given(const std::string& name) const { return found_.count(name) > 0; }

 private:
  std::string command_, positional_, description_, value_;
  boost::program_options::options_description described_{"Options", 110};
  boost::program_options::variables_map found_;
};

}  // namespace ptb
