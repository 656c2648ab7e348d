// Charts: axes, ticks and curves, in SVG.
#include "training/report/chart.h"

#include <cmath>
#include <limits>

#include "tests/program.h"
#include "tests/support.h"
#include "tests/training/drawn.h"

using namespace unroll;

namespace {

// The labels below an axis: the middle and the text of each, left to right.
std::vector<std::pair<double, std::string>> x_labels(const std::string& svg, int height) {
  std::vector<std::pair<double, std::string>> labels;
  const std::regex label(fmt::format(
      "<text x=\"([0-9.]+)\" y=\"{}.0\" text-anchor=\"middle\" class=\"tick\">([^<]*)<", height - 38 + 18));
  for (std::sregex_iterator match(svg.begin(), svg.end(), label), end; match != end; ++match)
    labels.emplace_back(std::stod((*match)[1]), (*match)[2]);
  return labels;
}

}  // namespace

TEST_CASE("ticks are round and cover the range") {
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(-1, 1.2, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(round_ticks(0, 0.31, 3) == std::vector<double>{0, 0.1, 0.2, 3 * 0.1});
  CHECK(round_log_ticks(9, 11000, 6) == std::vector<double>{10, 30, 100, 300, 1000, 3000, 10000});
  CHECK(round_log_ticks(1, 1e7, 7) == std::vector<double>{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7});
  CHECK(round_log_ticks(110, 131, 4) == std::vector<double>{110, 115, 120, 125, 130});
  CHECK(round_ticks(5000, 5000 + 1e-12, 5).empty());  // doubles do not tell them apart
  CHECK(round_ticks(1e300, 1e300, 5).empty());
  CHECK(round_log_ticks(5e-324, 1, 5).size() < 20);
}

TEST_CASE("no tick stands between two steps") {
  Chart chart{.title = "t", .x_name = "step", .y_name = "y", .x_from = 1};
  for (const double last : {2.0, 2.5}) {
    chart.series = {{.name = "s", .x = {1, last}, .y = {1, 2}}};
    std::string texts;
    for (const auto& [middle, words] : x_labels(chart_svg(chart, 560, 300, "id"), 300)) texts += words + " ";
    CHECK(texts == (last == 2 ? "1 2 " : "1 1.2 1.4 1.6 1.8 2 2.2 2.4 "));
  }
}

TEST_CASE("the name of a level to which curves come down stands below it") {
  Chart chart{
      .title = "down", .x_name = "step", .y_name = "y", .from_zero = false, .levels = {{"floor", 10}}};
  chart.series = {{.name = "y"}};
  for (int x = 0; x <= 100; ++x)
    chart.series[0].x.push_back(x), chart.series[0].y.push_back(x == 0 ? 18 : x < 100 ? 10.1 : 9.99);
  for (const bool logarithmic : {false, true}) {
    chart.logarithmic = logarithmic;
    const std::string svg = chart_svg(chart, 600, 300, "a");
    const auto y_before = [&](const char* style, const char* key) {
      const size_t from = svg.rfind(key, svg.find(style));
      return std::stod(svg.substr(from + std::strlen(key)));
    };
    CHECK(y_before("class=\"level-name", " y=\"") > y_before("class=\"level\"", "y1=\""));
  }
}

TEST_CASE("a curve goes through its points: linear from zero, or logarithmic") {
  Chart chart{
      .title = "t", .x_name = "x", .y_name = "y", .series = {{.name = "s", .x = {0, 5, 10}, .y = {0, 4, 8}}}};
  auto points = points_of(chart_svg(chart, 400, 300, "id"));
  REQUIRE(points.size() == 3);
  CHECK(points[1].first == doctest::Approx((points[0].first + points[2].first) / 2).epsilon(0.001));
  CHECK(points[1].second == doctest::Approx((points[0].second + points[2].second) / 2).epsilon(0.001));
  CHECK(points[0].second > points[2].second);  // upwards is less

  chart.logarithmic = true;
  chart.series[0].y = {1, 10, 100};
  points = points_of(chart_svg(chart, 400, 300, "id"));
  CHECK(points[1].second == doctest::Approx((points[0].second + points[2].second) / 2).epsilon(0.001));
  chart.series[0].y = {0, 10, 100};  // has no logarithm
  points = points_of(chart_svg(chart, 400, 300, "id"));
  CHECK(points[0].second - points[1].second ==
        doctest::Approx((points[0].second - points[2].second) / 10).epsilon(0.01));
}

TEST_CASE("band, mark, levels and the axis on the right stand where their values are") {
  Chart chart{.title = "t",
              .x_name = "x",
              .y_name = "y",
              .right_name = "nats",
              .logarithmic = true,
              .series = {{.name = "a", .x = {0, 1, 2, 3}, .y = {std::exp(1), std::exp(2), std::exp(3), std::exp(4)}},
                         {.name = "b", .x = {1, 2}, .y = {10, 20}}},
              .levels = {{"level", std::exp(3)}},
              .mark = Chart::Mark{"best", 1, std::exp(2)}};
  chart.band = {.name = "80 %", .x = {1, 2}, .low = {std::exp(1), std::exp(2)}, .high = {std::exp(3), std::exp(4)}};
  const std::string svg = chart_svg(chart, 600, 300, "a");
  const auto at = points_of(svg);
  REQUIRE(at.size() == 4);
  const auto x = [&](int k) { return fmt::format("{:.1f}", at[static_cast<size_t>(k)].first); };
  const auto y = [&](int k) { return fmt::format("{:.1f}", at[static_cast<size_t>(k)].second); };
  CHECK(has(svg, "<path d=\"M" + x(1) + " " + y(2) + "L" + x(2) + " " + y(3) + "L" + x(2) + " " + y(1) + "L" + x(1) + " " +
                     y(0) + "Z\" class=\"band s1\"/>"));
  CHECK(has(svg, "<circle cx=\"" + x(1) + "\" cy=\"" + y(1) + "\" r=\"5.5\" class=\"mark\"/>"));
  CHECK(has(svg, "y1=\"" + y(2) + "\" x2=\"560.0\" y2=\"" + y(2) + "\" class=\"level\"/>"));
  const std::regex right("<text x=\"568.0\" y=\"([0-9.]+)\" text-anchor=\"start\" class=\"tick\">([1-4])<");
  int ticks = 0;
  for (std::sregex_iterator tick(svg.begin(), svg.end(), right), end; tick != end; ++tick, ++ticks)
    CHECK(std::abs(std::stod((*tick)[1]) - 4 - at[std::stoul((*tick)[2]) - 1].second) < 0.11);
  CHECK(ticks >= 2);
  chart.logarithmic = false;  // the logarithm has no even axis
  CHECK(!has(chart_svg(chart, 600, 300, "a"), "nats"));
}

TEST_CASE("the values behind a chart are told with their digits, and with the names of x") {
  const Chart chart{.title = "t",
                    .x_name = "time \"<\"",
                    .y_name = "y",
                    .x_texts = {"mon", "t</script>"},
                    .series = {{.name = "a", .x = {1'000'001, 1'000'002}, .y = {1.23456, -2}}, {.name = "b"}}};
  CHECK(chart_json(chart) ==
        R"({"x":"time \"\u003c\"","texts":["mon","t\u003c/script>"],"series":[{"name":"a","x":[1000001,1000002],)"
        R"("y":[1.23456,-2]},{"name":"b","x":[],"y":[]}]})");
}

TEST_CASE("in a file charts stand one below the other, each curve's name beside its colour") {
  Chart chart{.title = "first",
              .x_name = "x",
              .y_name = "y",
              .series = {{.name = "alpha", .x = {0, 1}, .y = {1, 2}}, {.name = "beta", .x = {0, 1}, .y = {2, 1}}}};
  chart.band = {.name = "80 %", .x = {0, 1}, .low = {1, 1}, .high = {2, 2}};
  Chart second = chart;
  second.title = "second", second.band.reset();
  const std::string file = chart_file(std::vector{chart, second}, 500, 200);
  CHECK(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 500 400\" width=\"500\" height=\"400\">\n"));
  // A name of n letters has 44 + 7 n units.
  for (const char* part :
       {"<text x=\"12\" y=\"22\" style=\"font-size:15px;font-weight:600\">first<",
        "<rect x=\"12\" y=\"36\" width=\"18\" height=\"4\" fill=\"#2b67a8\" opacity=\"1\"/><text x=\"36\" y=\"43\">alpha<",
        "<rect x=\"91\" y=\"36\" width=\"18\" height=\"4\" fill=\"#a83c05\" opacity=\"1\"/><text x=\"115\" y=\"43\">beta<",
        "<rect x=\"163\" y=\"36\" width=\"18\" height=\"4\" fill=\"#a83c05\" opacity=\"0.18\"/><text x=\"187\" y=\"43\">80 %<",
        "<svg x=\"12\" y=\"52\" width=\"476\" height=\"136\"",
        "<text x=\"12\" y=\"222\" style=\"font-size:15px;font-weight:600\">second<",
        "<rect x=\"91\" y=\"236\" width=\"18\" height=\"4\" fill=\"#a83c05\" opacity=\"1\"/><text x=\"115\" y=\"243\">beta<",
        "<svg x=\"12\" y=\"252\" width=\"476\" height=\"136\"", ".s0 path{stroke:#2b67a8}", ".s1 path{stroke:#a83c05}",
        ".band.s1{fill:#a83c05}"})
    CHECK_MESSAGE(has(file, part), part);
}

TEST_CASE("a chart in characters, to the character") {
  Chart chart{.title = "load",
              .x_name = "hour",
              .y_name = "MW",
              .x_texts = {"00:00:00", "01:00:00", "02:00:00", "03:00:00", "04:00:00"},
              .series = {{.name = "past", .x = {0, 1, 2}, .y = {1, 2, 4}}, {.name = "to come", .x = {3, 4}, .y = {3, 2}}}};
  chart.band = {.name = "80 %", .x = {3, 4}, .low = {2, 1}, .high = {4, 3}};
  CHECK(chart_text(chart, 31, 5) ==
        "load\n"
        "       4 |          o    .\n"
        "         |               *    .\n"
        "       2 |     o         .    *\n"
        "         |o                   .\n"
        "       0 |\n"
        "          00:00           04:00\n"
        "          o past   * to come   . 80 %\n");
  chart.from_zero = false, chart.x_from = 2, chart.band.reset();
  CHECK(chart_text(chart, 31, 4) ==
        "load\n"
        "       4 |o\n"
        "         |          *\n"
        "       2 |                    *\n"
        "       1 |\n"
        "          02:00           04:00\n"
        "          o past   * to come\n");
}

TEST_CASE("large values at an axis have units") {
  for (const auto& [value, text] : {std::pair{999.0, "999"}, {1500, "1.5k"}, {-2e6, "-2M"}, {3e9, "3G"}, {4.5e12, "4.5T"},
                                    {1e15, "1e+15"}, {0.05, "0.05"}, {0, "0"}})
    CHECK(tick_text(value) == text);
  CHECK(tick_text(123456789, 1) == "123.456789M");
}

TEST_CASE("a curve that does not move has an axis, whatever its height") {
  for (const double y : {0.0, 1e-300, 950.0, 5000.0, -5000.0, 1e9, -1e300}) {
    const Chart chart{
        .title = "t", .x_name = "x", .y_name = "y", .series = {{.name = "s", .x = {0, 1}, .y = {y, y}}}};
    const std::string svg = chart_svg(chart, 400, 300, "id");
    CHECK(!has(svg, "nan"));
    CHECK(!has(svg, "inf"));
    CHECK(points_of(svg).size() == 2);
  }
}

TEST_CASE("what is not finite breaks the line, and no number in the report is NaN") {
  const double nan = std::nan(""), inf = INFINITY;
  const Chart chart{.title = "t",
                    .x_name = "x",
                    .y_name = "y",
                    .logarithmic = true,
                    .series = {{.name = "s", .x = {1, 2, 3, 4}, .y = {5, nan, inf, 7}}, {.name = "none"}}};
  const std::string svg = chart_svg(chart, 400, 300, "id");
  CHECK(points_of(svg).size() == 2);
  CHECK(!has(svg, "nan"));
  CHECK(!has(svg, "inf"));
  CHECK(has(chart_json(chart), "\"y\":[5,null,null,7]"));
  CHECK(!has(chart_svg({.title = "t", .x_name = "x", .y_name = "y"}, 400, 300, "id"), "nan"));
}

// Every kind that there is: in a page, in a file and in a terminal. A loop over such a range would not end, or take all memory.
TEST_CASE("degenerate values have a picture, as small as any other") {
  const double nan = std::nan(""), inf = INFINITY, most = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> curves = {{},
                                                   {7},
                                                   {nan},
                                                   {inf, -inf},
                                                   {7, 7, 7},
                                                   {1e17, 1e17},
                                                   {-1e300, 1e300},
                                                   {-most, most},
                                                   {5e-324, 1},
                                                   {5e-324, most},
                                                   {1e-300, 1e300},
                                                   {1e-320, 2e-320},
                                                   {1, 1e16, nan},
                                                   {0, 1e-323}};
  for (const auto& y : curves)
    for (const bool logarithmic : {false, true})
      for (const bool from_zero : {false, true})
        for (const double top : {inf, 0.0, 7.0, 5e-324, -1.0})
          for (const double x_from : {0.0, 1e17}) {
            CAPTURE(y);
            CAPTURE(logarithmic);
            CAPTURE(top);
            Chart chart{.title = "t",
                        .x_name = "x",
                        .y_name = "y",
                        .right_name = "log",
                        .top = top,
                        .logarithmic = logarithmic,
                        .x_from = x_from,
                        .from_zero = from_zero,
                        .series = {{.name = "s", .x = std::vector<double>(y.size(), 1), .y = y},
                                   {.name = "x", .x = {nan, inf, most, 2}, .y = {1, 2, 3, 4}}},
                        .levels = {{"level", y.empty() ? nan : y.back()}}};
            if (!y.empty()) chart.mark = Chart::Mark{"mark", 1, y.back()};
            chart.band = {.name = "band", .x = {1, 2}, .low = {1, -most}, .high = {2, most}};
            for (const std::string& picture : {chart_svg(chart, 400, 300, "id"), chart_file(chart),
                                               chart_text(chart, 60, 12), chart_json(chart)}) {
              CHECK(picture.size() < 20'000);
              CHECK(!has(picture, "nan"));
              CHECK(!has(picture, "inf"));
            }
          }
}

TEST_CASE("a cut that would leave no height is none") {
  Chart chart{.title = "t",
              .x_name = "x",
              .y_name = "y",
              .top = 5,
              .from_zero = false,
              .series = {{.name = "s", .x = {1, 2}, .y = {9, 5}}}};
  const auto points = points_of(chart_svg(chart, 400, 300, "id"));
  REQUIRE(points.size() == 2);
  CHECK(points[0].second > 0);  // in the picture
  CHECK(points[1].second < 300);
  CHECK(points[1].second - points[0].second > 100);  // and apart
  chart.series = {{.name = "s", .x = {1, 2, 3}, .y = {9, 5, 4}}};
  CHECK(points_of(chart_svg(chart, 400, 300, "id"))[0].second < 0);
}

TEST_CASE("a name is put where no curve is") {
  Chart chart{
      .title = "t",
      .x_name = "x",
      .y_name = "y",
      .series = {{.name = "above", .x = {0, 100}, .y = {60, 60}}, {.name = "s", .x = {50}, .y = {55}}},
      .mark = Chart::Mark{"best", 50, 55}};
  const auto y_of = [](const std::string& svg) {
    std::smatch match;
    REQUIRE(std::regex_search(svg, match,
                              std::regex("y=\"([0-9.]+)\" text-anchor=\"middle\" class=\"mark-name")));
    return std::stod(match[1]);
  };
  const auto line_at = points_of(chart_svg(chart, 400, 300, "id"))[0].second;
  CHECK(y_of(chart_svg(chart, 400, 300, "id")) >
        line_at + 20);  // below its point: the curve is right above it
  chart.series[0].y = {50, 50};
  CHECK(y_of(chart_svg(chart, 400, 300, "id")) < points_of(chart_svg(chart, 400, 300, "id"))[0].second - 20);
}

TEST_CASE("many points are thinned to means of neighbours") {
  ChartSeries series{.name = "s"};
  for (int i = 0; i < 1000; ++i) series.x.push_back(i), series.y.push_back(i % 2);
  const ChartSeries thin = thinned(series, 100);
  REQUIRE(thin.x.size() == 100);
  CHECK(thin.x[0] == 4.5);
  CHECK(thin.x[99] == 994.5);
  CHECK(thin.y[50] == 0.5);
  CHECK(thinned(series, 1000).x == series.x);
}

TEST_CASE(
    "times with hours below an axis neither overlap nor are cut, in a wide picture and in a narrow one") {
  for (const int rows : {2, 7, 24, 60, 120})
    for (const int width : {200, 320, 360, 600, 876, 980})
      for (const bool seconds : {false, true}) {
        CAPTURE(rows);
        CAPTURE(width);
        CAPTURE(seconds);
        Chart chart{
            .title = "t", .x_name = "time", .y_name = "y", .from_zero = false, .series = {{.name = "s"}}};
        for (int i = 0; i < rows; ++i) {
          chart.x_texts.push_back(
              fmt::format("2020-01-{:02} {:02}:00:{:02}", 1 + i / 24, i % 24, seconds ? i % 60 : 0));
          chart.series[0].x.push_back(i), chart.series[0].y.push_back(i % 5);
        }
        const auto labels = x_labels(chart_svg(chart, width, 300, "a"), 300);
        REQUIRE(!labels.empty());
        CHECK(labels[0].second == (seconds ? "2020-01-01 00:00:00" : "2020-01-01 00:00"));
        // A digit of 12 pixels is 0.636 * 12 = 7.64 wide in the widest of the usual fonts, DejaVu Sans and Verdana.
        const double half = 7.64 / 2 * static_cast<double>(labels[0].second.size());
        for (size_t k = 0; k < labels.size(); ++k) {
          CHECK(labels[k].first - half >= -0.06);  // places are rounded to a tenth
          CHECK(labels[k].first + half <= width + 0.06);
          if (k > 0) CHECK(labels[k].first - labels[k - 1].first >= 2 * half + 5);
        }
        if (width >= 600 && rows >= 24) CHECK(labels.size() >= 3);
      }
}

TEST_CASE("what stands beside the y axis has room, and tells its ticks apart, in tiny and in huge units") {
  for (const auto& [low, high] :
       {std::pair{5.1e-7, 5.9e-7}, {1e-9, 3e-9}, {5.1e9, 5.9e9}, {123456787.0, 123456792.0}}) {
    CAPTURE(low);
    const Chart chart{.title = "t",
                      .x_name = "x",
                      .y_name = "y",
                      .from_zero = false,
                      .series = {{.name = "s", .x = {0, 1}, .y = {low, high}}}};
    const std::string svg = chart_svg(chart, 600, 300, "a"), text = chart_text(chart, 60, 9);
    const std::regex label("<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"end\" class=\"tick\">([^<]*)<");
    std::vector<std::string> found;
    for (std::sregex_iterator match(svg.begin(), svg.end(), label), end; match != end; ++match) {
      found.push_back((*match)[2]);
      CHECK(std::stod((*match)[1]) >= 7.64 * static_cast<double>(found.back().size()) - 1);
    }
    REQUIRE(found.size() >= 3);
    CHECK(std::ranges::adjacent_find(found) == found.end());
    // In a terminal: the first, the middle and the last line.
    std::vector<std::string> values;
    for (const std::string& line : lines_of(text))
      if (const size_t bar = line.find(" |"); bar != line.npos && line.find_first_not_of(' ') < bar)
        values.push_back(line.substr(0, bar));
    REQUIRE(values.size() == 3);
    CHECK(std::ranges::adjacent_find(values) == values.end());
  }
}

TEST_CASE("a point between two gaps is drawn") {
  const double gap = std::nan("");
  const Chart chart{.title = "t",
                    .x_name = "x",
                    .y_name = "y",
                    .series = {{.name = "s", .x = {0, 1, 2, 3, 4}, .y = {1, gap, 3, gap, gap}}}};
  CHECK(count(chart_svg(chart, 600, 300, "a"), "<circle") == 2);
}
