// Recipes: any bytes as a recipe's text, and as an assignment of --set. A recipe that is accepted is written
// out with every key, and that text makes the same recipe again.
#include "examples/ptb/model/recipe.h"
#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto round_trip = [](const std::string& recipe, const std::vector<ptb::Override>& overrides) {
    std::string resolved;
    if (!fuzz::accepts([&] {
          resolved = ptb::resolved(
              ptb::load_recipe({.name = "fuzz", .origin = "fuzz.toml", .text = recipe}, overrides));
        }))
      return;
    const ptb::Recipe again = ptb::load_recipe({.name = "fuzz", .origin = "resolved.toml", .text = resolved});
    fuzz::expect(ptb::resolved(again) == resolved, "a resolved recipe makes itself");
  };
  round_trip(text, {});
  round_trip("", {{text}});
  return 0;
}
