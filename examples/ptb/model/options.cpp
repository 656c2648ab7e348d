#include "examples/ptb/model/options.h"

namespace ptb {

const DataOption& text_option() {
  static const DataOption option{.name = "data",
                                 .value = "DIR",
                                 .description = "folder of the text",
                                 .heading = "Text and machine",
                                 .what = "text"};
  return option;
}

void add_data_option(Command& command, std::string& data) {
  const DataOption& text = text_option();
  command.option(text.name, data, text.value, text.description).otherwise("data/ptb for the Penn Treebank");
}

RecipeOptions recipe_options() {
  Recipe recipe;
  RecipeReader keys;
  declare_keys(keys, recipe);
  return RecipeOptions(keys);
}

}  // namespace ptb
