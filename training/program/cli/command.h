// A command of a program ("ptb train"). Declares its words and options, each once.
//
// The function that runs the command declares them, bound to its own variables, and then has them parsed. The page of
// --help, the manual page and bash's completion come from the same declarations:
//
//   void generate(Command& command) {
//     int words = 100;
//     command.describe("Lets a trained model write.");
//     command.word("CHECKPOINT", "a model's file");
//     command.option("words", words, "N", "words to draw");     // its first value is the default
//     if (!command.parse()) return;                             // only the declarations were wanted
//     …
//   }
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace unroll {

// One declared option. The functions change it and return it, so calls can be chained.
struct Option {
  using Field =
      std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*>;

  Option& one_of(std::vector<std::string> words);  // accepted values; shown in place of its name
  Option& otherwise(std::string text);             // the default in words, if the value does not tell it
  // The value may be left out, and then is `implied`. The next word counts as the value if it looks like one: "key=…",
  // "word,…", or one of `bare`.
  Option& may_stand_alone(std::string implied, std::vector<std::string> bare);

  std::string name;         // without its dashes
  std::string value;        // the value's name, "N"; empty for an option without a value
  std::string description;  // without a full stop, as are all descriptions here
  std::string group;        // its heading
  Field field;
  std::vector<std::string> words = {};  // accepted; empty: any
  bool alone = false;                   // may_stand_alone
  std::string implied = {};             // its value then
  std::vector<std::string> bare = {};   // values that are a word alone
  std::string default_text = {};        // empty: there is none to speak of
};

// A line of a list: an example with its effect, a file with its contents.
struct Entry {
  std::string what, description;
};

class Command {
 public:
  // The program's name; the command's name and its purpose in a few words; the arguments after that name; the folder
  // that the program's first run would leave, for examples.
  Command(std::string program, Entry name, std::vector<std::string> arguments, std::string first_run);

  // Describes the command in a paragraph.
  void describe(std::string text) { description_ = std::move(text); }
  // The one word that is not an option: "RECIPE"; "[COMMAND]" may be left out. The name decides what the completion
  // offers, for options too: RECIPE bundled recipes and files, COMMAND commands, CHECKPOINT and FILE files, DIR
  // folders, KEY=VALUE keys of recipes.
  void word(std::string name, std::string description);
  // The word may also be the file of a series, FILE.csv or FILE.tsv.
  void also_takes_series() { also_takes_series_ = true; }
  bool takes_series() const { return also_takes_series_; }
  // Options declared after this stand under the heading.
  void group(std::string heading) { group_ = std::move(heading); }
  // An option with a value. The default is `field`'s value at this moment. A list may be given several times.
  template <class T>
  Option& option(std::string name, T& field, std::string value, std::string description) {
    return add({.name = std::move(name),
                .value = std::move(value),
                .description = std::move(description),
                .group = group_,
                .field = &field});
  }
  // An option without a value.
  Option& option(std::string name, bool& field, std::string description) {
    return option(std::move(name), field, "", std::move(description));
  }
  void example(std::string line, std::string description);  // without the program's name
  void file(std::string name, std::string description);

  // Reads the arguments into the variables. False if only the declarations were wanted: for the page of --help, which
  // it then prints, or for a table. Throws InputError.
  bool parse();
  // After this, parse() only returns false, and the declarations can be inspected.
  void only_declare() { only_declare_ = true; }

  const std::string& positional() const { return positional_; }  // the word, or empty
  bool given(const std::string& option) const { return given_.contains(option); }

  const std::string& program() const { return program_; }
  const std::string& first_run() const { return first_run_; }  // "runs/demo-1"
  const std::string& name() const { return name_.what; }
  const std::string& purpose() const { return name_.description; }
  const std::string& description() const { return description_; }
  const Entry& takes() const { return word_; }
  const std::deque<Option>& options() const { return options_; }
  const std::vector<Entry>& examples() const { return examples_; }
  const std::vector<Entry>& files() const { return files_; }
  std::string synopsis() const;  // "train RECIPE"

 private:
  Option& add(Option option);
  void take(const std::vector<std::string>& words);
  void check_words() const;
  std::vector<std::string> with_values_joined();
  [[noreturn]] void refuse_surplus(const std::vector<std::string>& words) const;

  std::string program_, first_run_, description_, group_ = "Options", positional_;
  Entry name_, word_;
  std::vector<std::string> arguments_;
  std::deque<Option> options_;  // deque: references stay valid
  std::vector<Entry> examples_, files_;
  std::set<std::string> given_;
  std::map<std::string, const Option*> behind_;  // words that follow an option that may stand alone
  bool only_declare_ = false, also_takes_series_ = false;
};

}  // namespace unroll
