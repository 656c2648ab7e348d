// Columns of words: their order, what fills a missing one, and the codes that a model knows.
#include "examples/timeseries/files/categories.h"

#include "tests/support.h"

using namespace unroll;

namespace {

using Names = std::vector<std::string>;
using Codes = std::vector<int32_t>;

Series parse(std::string_view text, SeriesOptions options = {}) {
  if (options.categories.empty()) options.categories = {"kind"};
  return parse_series(text, "x.csv", options);
}

std::string refusal(std::string_view text, const SeriesOptions& options = {}) {
  return input_error_of([&] { parse(text, options); });
}

const std::string shops = "id,t,y,kind\nb,1,5,far\na,1,6,near\nb,2,7,far\na,2,8,near\n";

}  // namespace

TEST_CASE("words are numbered in their order, whole numbers by value, and are no channel") {
  const Series words = parse("y,kind\n1,sale\n2,\"a, b\"\n3,sale\n4,NA\n");
  CHECK(words.channels == Names{"y"});
  CHECK(words.categories[0].words == Names{"NA", "a, b", "sale"});  // a word as any other
  CHECK(words.categories[0].codes == Codes{2, 1, 2, 0});
  const Series numbers = parse("y,kind\n1,10\n2,9\n3,-1\n");
  CHECK(numbers.categories[0].words == Names{"-1", "9", "10"});
  // A column that would be taken as the time is not, if it is named as a category.
  CHECK(parse("y,kind\n1,2020-01-01\n2,2020-01-02\n").time_name.empty());
  // A header of numbers is one, if they are named.
  CHECK(parse("1,2\n5,a\n", {.categories = {"2"}}).channels == Names{"1"});
}

TEST_CASE("of several series each row keeps its word, also where they stand in turns") {
  const Series series = parse(shops, {.categories = {"kind", "id"}, .id = "id"});
  CHECK(series.categories[0].codes == Codes{0, 0, 1, 1});
  CHECK(series.categories[1].words == Names{"a", "b"});
  CHECK(series.categories[1].codes == Codes{1, 1, 0, 0});
  CHECK(series.alone(1).categories[0].codes == Codes{1, 1});
  const auto known = words_of_categories(series, {{0, 2, 0}});
  CHECK(known[0].words == Names{"far"});
  CHECK(known[0].is_static);
  CHECK_FALSE(words_of_categories(parse("y,kind\n1,a\n2,a\n"), {{0, 2, 0}})[0].is_static);
  CHECK_FALSE(words_of_categories(parse(shops + "a,3,9,far\n", {.id = "id"}), {{0, 5, 0}})[0].is_static);
}

TEST_CASE("a missing word is the one before it in the same series, or an error") {
  const std::string text = "id,y,kind\na,1,x\nb,1,z\na,1,\nb,1,y\nb,1,\n";
  const Series filled = parse(text, {.id = "id", .missing = Missing::previous});
  CHECK(filled.categories[0].codes == Codes{0, 0, 2, 1, 1});
  CHECK(filled.notes == Names{"2 missing words of 'kind' filled in (the previous one); the first in line 4"});
  CHECK(filled.filled.empty());
  CHECK(refusal(text, {.id = "id"}) ==
        "x.csv:4: column 3 ('kind'): a word is missing; data.missing = \"previous\" "
        "takes the one before it");
  CHECK(
      refusal("id,y,kind\na,1,x\nb,1,\n", {.id = "id", .missing = Missing::mask}) ==
      "x.csv:3: column 3 ('kind'): a word is missing, and there is none before it in its series to fill it in from");
}

TEST_CASE("columns that are no category are refused with line and column") {
  CHECK(lacks(refusal("y,kind\n1,2\n2,2.5\n"),
              {"x.csv:3: column 2 ('kind'): '2.5' is no whole number", "data.categories"}) == "");
  CHECK(parse("y,kind\n1,2.5\n2,v2.6\n").categories[0].words == Names{"2.5", "v2.6"});
  CHECK(lacks(refusal("y;kind\n1;2\n2;2,5\n", {.separator = ';', .decimal = ','}),
              {"'2,5' is no whole number"}) == "");
  CHECK(lacks(refusal("y,kin\n1,2\n"), {"there is no column 'kind'", "did you mean 'kin'?"}) == "");
  CHECK(lacks(refusal("t,y,kind\n1,2,a\n", {.time = "kind"}),
              {"column 'kind' holds the times, and is no category"}) == "");
  CHECK(lacks(refusal("kind\na\n"), {"no column of values"}) == "");
  CHECK(lacks(input_error_of([] { parse_series("y,kind\n1,a\n", "x.csv"); }),
              {"x.csv:2: column 2 ('kind'): 'a' is not a number",
               "data.categories = [\"kind\"] reads its words"}) == "");
  std::string many = "y,kind\n";
  for (std::size_t k = 0; k <= CategoryColumn::most_words; ++k) many += fmt::format("1,w{}\n", k);
  CHECK(lacks(refusal(many), {"x.csv:65538: column 2", "more than 65536 words"}) == "");
}

TEST_CASE("a file is told by the words that a model knows, and a word that it does not know is an error") {
  Series series = parse(shops, {.time = "t", .id = "id"});
  add_calendar(series, {});
  add_categories(series);
  CHECK(series.channels == Names{"y", "kind"});
  CHECK(series.calendar == 1);
  CHECK(series.is_category(1));
  const std::vector<CategoryWords> known = {{"kind", {"here", "near", "far"}, true}};
  encode_categories(series, known, "the model of m was not trained on it");
  CHECK(series.values == std::vector<double>{5, 2, 7, 2, 6, 1, 8, 1});
  CHECK(series.categories[0].is_static);
  Series other = parse(shops + "a,3,1,nar\n", {.id = "id"});
  CHECK(input_error_of([&] { encode_categories(other, known, "the model of m was not trained on it"); }) ==
        "x.csv:6: column 4 ('kind'): 'nar': the model of m was not trained on it; did you mean 'near'?");
  Series changes = parse(shops + "a,3,1,far\n", {.id = "id"});
  CHECK(
      input_error_of([&] { encode_categories(changes, known, "m"); }) ==
      "x.csv:6: column 4 ('kind'): 'far' follows 'near', and where the model was trained each series had one word "
      "throughout");
  Series twice = parse("y,kind\n1,a\n", {.categories = {"kind"}});
  twice.insert_channels(0, {"kind"}, {{1}});
  CHECK(lacks(input_error_of([&] { add_categories(twice); }), {"there is a channel 'kind' already"}) == "");
}
