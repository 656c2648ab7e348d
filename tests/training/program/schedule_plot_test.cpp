// "explain --plot", of every program that trains: the picture's curves are those of the schedule.
#include <cmath>
#include <regex>

#include "optim/schedule.h"
#include "tests/training/program/trained_programs.h"

using namespace unroll;

namespace {

struct Point {
  double x, y;
};

// A chart in a file of SVG: its curve in the file's units, and where values lie there.
struct Drawn {
  std::vector<Point> curve;
  std::vector<double> levels;  // y of dashed lines
  double left, top, right, bottom, x_low, x_high, y_low, y_high;
  bool logarithmic;
  Point of(double x, double y) const {
    const double part =
        logarithmic ? std::log(y / y_low) / std::log(y_high / y_low) : (y - y_low) / (y_high - y_low);
    return {left + (x - x_low) / (x_high - x_low) * (right - left), bottom + part * (top - bottom)};
  }
};

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  const std::regex number("-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?");
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at)
    numbers.push_back(std::stod(at->str()));
  return numbers;
}

std::vector<Drawn> charts_in(const std::string& svg) {
  std::vector<Drawn> charts;
  const auto quoted = [&](const char* name, size_t from) {
    const size_t begin = svg.find(name, from) + std::string(name).size();
    return svg.substr(begin, svg.find('"', begin) - begin);
  };
  for (size_t at = svg.find("data-plot=\""); at != svg.npos; at = svg.find("data-plot=\"", at + 1)) {
    const auto plot = numbers_in(quoted("data-plot=\"", at)), range = numbers_in(quoted("data-range=\"", at));
    REQUIRE(plot.size() == 4);
    REQUIRE(range.size() == 4);
    Drawn& chart =
        charts.emplace_back(Drawn{{},
                                  {},
                                  plot[0],
                                  plot[1],
                                  plot[2],
                                  plot[3],
                                  range[0],
                                  range[1],
                                  range[2],
                                  range[3],
                                  svg.substr(at, svg.find('>', at) - at).find("data-log") != svg.npos});
    const auto path = numbers_in(quoted("<g class=\"series s0\"><path d=\"", at));
    for (size_t i = 0; i + 1 < path.size(); i += 2) chart.curve.push_back({path[i], path[i + 1]});
    const size_t next = svg.find("</svg>", at);
    for (size_t line = svg.find("class=\"level\"", at); line < next;
         line = svg.find("class=\"level\"", line + 1))
      chart.levels.push_back(std::stod(svg.substr(svg.rfind("y1=\"", line) + 4)));
  }
  return charts;
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}
double distance(Point p, const std::vector<Point>& line) {
  double least = distance(p, line.front(), line.front());
  for (size_t i = 0; i + 1 < line.size(); ++i) least = std::min(least, distance(p, line[i], line[i + 1]));
  return least;
}

// The curve has each step's value, and each point of it is a step's, or the end. The file's numbers have one digit after the
// point, so each way they are off by at most 0.05; points that were left out, by a 2000th of the chart's height of 112 units.
template <class F>
void check_curve(const Drawn& drawn, int epochs, int64_t steps, F value) {
  constexpr double rounding = 0.0708;  // 0.05 · √2
  std::vector<Point> points;
  for (int64_t step = 0; step < epochs * steps; ++step)
    points.push_back(drawn.of(static_cast<double>(step) / static_cast<double>(steps), value(step)));
  points.push_back(drawn.of(epochs, value(epochs * steps - 1)));
  double worst = 0, of_vertex = 0;
  for (const Point& p : points) worst = std::max(worst, distance(p, drawn.curve));
  for (const Point& vertex : drawn.curve) {
    double least = 1e9;
    for (const Point& p : points) least = std::min(least, std::hypot(p.x - vertex.x, p.y - vertex.y));
    of_vertex = std::max(of_vertex, least);
  }
  CHECK(worst < rounding + 0.06);
  CHECK(of_vertex < rounding);
  CHECK(drawn.x_low == 0);
  CHECK(drawn.x_high == epochs);
}

struct Explained {
  std::string out;
  std::vector<Drawn> charts;
  int64_t steps;  // of an epoch
};
Explained explain(const Subject& subject, const Words& set, const Folder& folder) {
  static int number = 0;
  const std::string file = fmt::format("{}.svg", ++number);
  Words words = Words{"explain", "tiny.toml"} + subject.data + Words{"--plot", file};
  for (const std::string& assignment : set) words = words + Words{"--set", assignment};
  const ProgramRun done = run(subject, words, folder);
  REQUIRE_MESSAGE(done.code == 0, done.err);
  std::smatch found;
  REQUIRE(std::regex_search(done.out, found, std::regex("([0-9]+) (windows an epoch|batches of)")));
  return {done.out, charts_in(read_text(folder / file)), std::stoll(found[1])};
}

}  // namespace

TEST_CASE("the picture's curve is the schedule's, at every step") {
  using Kind = Schedule::Kind;
  for (const Subject& subject : subjects) {
    CAPTURE(subject.program);
    const Folder folder;
    write_inputs(subject, folder);  // 3 epochs at 0.01
    const auto check_rate = [&](const Words& set, const auto& schedule_of) {
      const auto [out, charts, steps] = explain(subject, set, folder);
      const Schedule schedule = schedule_of(steps);
      REQUIRE(charts.size() == (schedule.kind == Kind::one_cycle ? 2 : 1));
      check_curve(charts[0], 3, steps,
                  [&, n = steps](int64_t step) { return schedule.rate(static_cast<int>(step / n), step); });
      return charts;
    };
    check_rate({}, [](int64_t) { return Schedule{.learning_rate = 0.01}; });
    check_rate({"schedule.kind=step", "schedule.after=1"}, [](int64_t) {
      return Schedule{.kind = Kind::step, .learning_rate = 0.01, .after = 1, .factor = 0.5};
    });
    check_rate({"schedule.kind=cosine", "schedule.warmup=1", "schedule.minimum=0.001"}, [](int64_t steps) {
      return Schedule{.kind = Kind::cosine,
                      .learning_rate = 0.01,
                      .warmup = steps,
                      .total = 3 * steps,
                      .final_rate = 0.001};
    });
    // Validation is not known in advance: the picture shows the rate as it is, and where it would fall to.
    const auto plateau = check_rate({"schedule.kind=plateau", "schedule.factor=0.25"},
                                    [](int64_t) { return Schedule{.learning_rate = 0.01}; });
    REQUIRE(plateau[0].levels.size() == 3);
    for (int k = 0; k < 3; ++k)
      CHECK(plateau[0].levels[static_cast<size_t>(k)] ==
            doctest::Approx(plateau[0].of(0, 0.01 / std::pow(4, k + 1)).y).epsilon(0.001));
    CHECK(plateau[0].logarithmic);
  }
}

TEST_CASE("a cycle's picture has the momentum, or beta1, below the rate, and its text says where they turn") {
  for (const Subject& subject : subjects)
    for (const std::string kind : {"adamw", "sgd"}) {
      CAPTURE(subject.program);
      CAPTURE(kind);
      const Folder folder;
      write_inputs(subject, folder);
      const auto [out, charts, steps] =
          explain(subject,
                  {"optimizer.kind=" + kind, "schedule.kind=one_cycle", "schedule.phases=[1, 2, 2, 1]",
                   "schedule.momentum_low=0.7", "schedule.momentum_high=0.8"},
                  folder);
      const Schedule schedule{.kind = Schedule::Kind::one_cycle,
                              .learning_rate = 0.01,
                              .total = 3 * steps,
                              .final_rate = 0.01 / 1000,
                              .start_rate = 0.01 / 10,
                              .phases = {1, 2, 2, 1},
                              .momentum = {0.7, 0.8}};
      REQUIRE(charts.size() == 2);
      check_curve(charts[0], 3, steps, [&](int64_t step) { return schedule.rate(0, step); });
      check_curve(charts[1], 3, steps, [&](int64_t step) { return *schedule.momentum_at(step); });
      for (const std::string& line :
           {std::string(
                "learning rate 0.001, up to 0.01 by epoch 0.5, down to 0.001 by 1.5, to 0.0001 by 2.5 and to "
                "1e-05 by 3\n"),
            fmt::format("{} 0.8, down to 0.7 by epoch 0.5, 0.8 again from epoch 1.5 on\n",
                        kind == "sgd" ? "momentum" : "beta1")})
        CHECK_MESSAGE(out.find(line) != std::string::npos, out);
    }
}

TEST_CASE("a picture replaces no file, and none is left of a recipe that is refused") {
  for (const Subject& subject : subjects) {
    const Folder folder;
    write_inputs(subject, folder);
    folder.write("mine.svg", "keep me");
    const auto before = folder.listing();
    const Words words = Words{"explain", "tiny.toml"} + subject.data;
    const ProgramRun there = run(subject, words + Words{"--plot", "mine.svg"}, folder);
    CHECK(there.code == 2);
    CHECK(there.err.find("mine.svg") != std::string::npos);
    CHECK(run(subject, words + Words{"--plot", "new.svg", "--set", "schedule.kind=linear"}, folder).code ==
          2);
    CHECK(folder.listing() == before);
  }
}
