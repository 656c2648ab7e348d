// A run's description: tables on a terminal and on a page, and a profile as a table.
#include "training/report/run_description.h"

#include <map>
#include <regex>
#include <string>

#include "tests/program.h"
#include "tests/support.h"
#include "tests/training/drawn.h"
#include "training/report/page.h"

using namespace unroll;

TEST_CASE("a table on a terminal: numbers to the right, words to the left, no blanks at the end") {
  const RunDescription::Table table{
      "t", "A note.", {"name", "n", "share"}, {{"a", "1,200", "9.5 %"}, {"long one", "", "90.5 %"}}};
  CHECK(table_text(table) ==
        "name           n    share\n"
        "a          1,200    9.5 %\n"
        "long one           90.5 %\n"
        "A note.\n");
}

TEST_CASE("a table wider than its report goes on below, and breaks no number") {
  // "name" is 4 wide and each number 6, three blanks between: two of them end at 4 + 9 + 9 = 22, a third would at 31.
  const RunDescription::Table table{"t",
                                    "A note.",
                                    {"name", "a", "b", "c"},
                                    {{"one", "1.2345", "6.7891", "2.3456"}, {"two", "", "7.8912", "3"}}};
  CHECK(table_text(table, 22) ==
        "name        a        b\n"
        "one    1.2345   6.7891\n"
        "two             7.8912\n"
        "\n"
        "name        c\n"
        "one    2.3456\n"
        "two         3\n"
        "A note.\n");
  CHECK(table_text(table, 31) == table_text(table));
  for (const int columns : {1, 5, 13, 21})  // a name and a number stand together, whatever room there is
    CHECK(lines_of(table_text(table, columns))[1] == "one    1.2345");
}

TEST_CASE("a note says how much memory the parameters of a table take") {
  ParameterSet params;
  params.add("w", {1000, 2}, Init::constant(1));
  params.add("b", {6}, Init::constant(1));
  const auto table = parameter_table(params);
  CHECK((table.rows == std::vector<std::vector<std::string>>{{"w", "[1000, 2]", "2,000"}, {"b", "[6]", "6"}}));
  CHECK(table.note == "Together 2,006 numbers, 8.02kB in float32.");
}

TEST_CASE("a cell of a page's table that is a share has a bar of its length, and one row may be the best") {
  CHECK(table_html({"t", "", {"name", "share"}, {{"a<", "9.5 %"}, {"b", "90.5 %"}}}, 1) ==
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"t\"><table>\n<thead><tr><th scope=\"col\">name</th>"
        "<th scope=\"col\" class=\"number\">share</th></tr></thead>\n<tbody>\n"
        "<tr><td>a&lt;</td><td class=\"number share\" style=\"--part:9.5%\">9.5 %</td></tr>\n"
        "<tr class=\"best\"><td>b</td><td class=\"number share\" style=\"--part:90.5%\">90.5 %</td></tr>\n"
        "</tbody></table></div>\n");
}

TEST_CASE("a profile's table tells forward from backward, and a product's share and rate are of its own row") {
  Profile profile;
  std::map<std::string, std::vector<std::string>> rows[2];
  {
    Tape tape;
    const Var x = tape.watch(Tensor::full({256, 256}, 1));
    const Var y = sum(matmul(x, x));
    {
      const Profile::Part part("update");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    for (const auto& row : profile_table(profile).rows) rows[0][row[0]] = row;
    tape.backward(y);
  }
  for (const auto& row : profile_table(profile).rows) rows[1][row[0]] = row;
  const auto number = [&](bool after, size_t column) { return std::stod(rows[after].at("matmul").at(column)); };
  const auto seconds = [&](bool after, size_t column) {  // format_number's, in units of seconds
    const std::string& cell = rows[after].at("matmul").at(column);
    return cell.empty() ? 0 : std::stod(cell);
  };
  CHECK(rows[0].at("matmul")[3].empty());  // not yet
  CHECK(rows[0].at("update")[2] != "");
  CHECK(rows[0].at("update")[3].empty());
  for (const bool after : {false, true}) {
    const double took = seconds(after, 2) + seconds(after, 3), flops = (after ? 3 : 1) * 2.0 * 256 * 256 * 256;
    CHECK(took > 0);
    CHECK(number(after, 6) == doctest::Approx(1e-9 * flops / took).epsilon(0.02));
    CHECK(number(after, 5) > number(after, 4));  // of a row that is little but products; "update" has most of the time
    CHECK(number(after, 5) <= 100);
  }
}

TEST_CASE("a profile's note says what options took of the recurrent layers' time, where there are any") {
  Profile profile;
  const auto layer = [](const char* op, const char* option) {
    Tape tape;
    const Var x = tape.watch(Tensor::full({4}, 1));
    if (option) const Profile::Within measured(option);
    record(op, x.value().clone(), inputs(x), [](const Var&) {});
  };
  layer("lstm_layer_fused", nullptr);
  CHECK(profile_table(profile).note.find("recurrent") == std::string::npos);
  layer("lstm_layer_fused", "recurrent: weight_drop");
  CHECK(profile_table(profile).note.find("Of the recurrent layers' ") != std::string::npos);
  {
    const Profile::Part part("update");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::string note = profile_table(profile).note;
  CHECK(note.find(" weight_drop ") != std::string::npos);
  CHECK(std::stod(note.substr(note.find("layers' ") + 8)) < 0.2);  // of the layers alone
}

TEST_CASE("a profile's table has the bytes that one tape holds, however many there were") {
  Profile profile;
  std::vector<std::string> held;
  for (int tapes = 1; tapes <= 3; ++tapes) {
    {
      Tape tape;
      const Var x = tape.watch(Tensor::full({1024}, 1));
      const Var loss = sum(record("keeping", x.value().clone(), inputs(x),
                                  [x](const Var& y) { x.gradient().tensor.copy_from(y.grad()); }));
      tape.backward(loss);
    }
    for (const auto& row : profile_table(profile).rows)
      if (row[0] == "keeping") held.push_back(row.back());
  }
  REQUIRE(held.size() == 3);
  CHECK(held[0] != "");
  CHECK(held[1] == held[0]);
  CHECK(held[2] == held[0]);
}

TEST_CASE("a profile's table shares out all of the time") {
  Profile profile;
  { const Profile::Part part("update"); }
  const auto table = profile_table(profile);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0][0] == "update");
  double shares = 0;
  for (const auto& row : table.rows) shares += std::stod(row[4]);
  CHECK(std::abs(shares - 100) <= 2 * 0.05 + 1e-9);  // each is rounded to a tenth
}
