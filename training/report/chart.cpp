#include "training/report/chart.h"

#include <fmt/format.h>

#include "framework/one_line.h"
#include "training/files/json/json.h"

namespace unroll {

namespace {

// Maps values to places on the page.
struct Axis {
  double low = 0, high = 1;  // values at its ends
  double from = 0, to = 1;   // and their places
  bool logarithmic = false;
  // Places far outside are clamped, since pictures compute with small numbers.
  double operator()(double value) const {
    const auto scaled = [this](double v) { return logarithmic ? std::log(v) : v; };
    return std::clamp(from + (to - from) * (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)), -1e5,
                      1e5);
  }
};

std::vector<Chart::Level> levels_of(const Chart& chart) {
  std::vector<Chart::Level> levels = chart.levels;
  std::erase_if(levels, [](const Chart::Level& level) { return !can_be_drawn(level.y); });
  return levels;
}

Axis y_axis(const Chart& chart, double bottom, double top) {
  DrawnRange range = range_of_y(chart, true);
  for (const Chart::Level& level : levels_of(chart)) range.add(level.y);
  if (chart.top > range.low) range.high = std::min(range.high, chart.top);
  Axis axis{.from = bottom, .to = top};
  if (range.empty()) return axis;
  // Logarithmic only if quotients are finite too.
  axis.logarithmic = chart.logarithmic && range.low >= 1e-140 && range.high <= 1e140;
  // A level's name stands below it: curves that come down to a level leave no room above. share: of the axis.
  const double share = 20 / (bottom - top), to_above = share / (1 - share);
  if (axis.logarithmic) {
    const double margin = std::max(std::pow(range.high / range.low, 0.06), 1.02);
    axis.low = range.low / margin, axis.high = range.high * margin;
    for (const Chart::Level& level : levels_of(chart))
      axis.low = std::min(axis.low, level.y * std::pow(axis.high / level.y, -to_above));
  } else {
    const double margin = 0.08 * (range.high - range.low);
    axis.low = chart.from_zero ? std::min(0.0, range.low) : range.low - margin;
    if (!chart.from_zero)
      for (const Chart::Level& level : levels_of(chart))
        axis.low = std::min(axis.low, level.y - to_above * (range.high + margin - level.y));
    // So far from 0 that a double still tells the ticks apart.
    const double least = 1e-9 * std::max(1.0, std::abs(axis.low));
    axis.high = axis.low + std::max((range.high - axis.low) * 1.08, least);
  }
  return axis;
}

Axis x_axis(const Chart& chart, double left, double right) {
  const DrawnRange range = range_of_x(chart, chart.x_from + std::max(1.0, 1e-9 * std::abs(chart.x_from)));
  return {.low = chart.x_from, .high = range.high, .from = left, .to = right};
}

// The font is not known. A digit of the widest usual ones, DejaVu Sans and Verdana, is 0.636 of 12 units wide.
double width_of_tick(std::string_view words) { return 7.7 * static_cast<double>(words.size()); }

bool is_whole(double value) { return value == std::round(value); }

struct Tick {
  double value;
  std::string text;
};
std::vector<Tick> with_texts(const std::vector<double>& values) {
  const double apart = values.size() > 1 ? values[1] - values[0] : 0;
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, tick_text(value, apart)});
  return ticks;
}
std::vector<Tick> ticks_of(const Axis& axis, int about) {
  return with_texts(axis.logarithmic ? round_log_ticks(axis.low, axis.high, about)
                                     : round_ticks(axis.low, axis.high, about));
}

// The frame's left edge: leaves room for the texts of the ticks.
double left_of(const std::vector<Tick>& ticks) {
  double left = 46;
  for (const Tick& tick : ticks) left = std::max(left, std::ceil(7 + width_of_tick(tick.text)));
  return left;
}

std::string text(double x, double y, const char* anchor, const char* style, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                     anchor, style, html_escaped(words));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
                     x2, y2, style);
}

struct Point {
  double x, y;
};

// A chart in the making. Remembers its drawing as points, so that names can be put where nothing else is.
class Drawing {
 public:
  Drawing(const Chart& chart, int width, int height, std::string id)
      : chart_(chart), width_(width), height_(height), id_(std::move(id)) {}

  std::string svg() {
    add_axes();
    for (const Chart::Level& level : levels_) {
      svg_ += line(left_, y_(level.y), right_, y_(level.y), "level");
      occupy({left_, y_(level.y)}, {right_, y_(level.y)});
    }
    svg_ += fmt::format(
        "<clipPath id=\"{}-c\"><path d=\"M{} {}H{}V{}H{}Z\"/></clipPath><g clip-path=\"url(#{}-c)\">\n", id_,
        left_, top, width_, bottom_ + 4, left_, id_);
    if (chart_.band) add_band(*chart_.band);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) add_curve(chart_.series[i], i);
    svg_ += "</g>\n";
    add_mark();
    for (const Chart::Level& level : levels_) add_level_name(level);
    return fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{}-t {}-d\" data-plot=\"{},{},{},{}\" "
        "data-range=\"{},{},{},{}\"{}>\n<title id=\"{}-t\">{}</title><desc id=\"{}-d\">{}</desc>\n{}</svg>\n",
        width_, height_, id_, id_, left_, top, right_, bottom_, x_.low, x_.high, y_.low, y_.high,
        y_.logarithmic ? " data-log=\"\"" : "", id_, html_escaped(chart_.title), id_,
        html_escaped(chart_.description), svg_);
  }

 private:
  static constexpr double top = 26;

  void add_axes() {
    const int columns = std::max(3, width_ / 110);
    for (const auto& [value, words] : y_ticks_) {
      svg_ += line(left_, y_(value), right_, y_(value), "grid");
      svg_ += text(left_ - 7, y_(value) + 4, "end", "tick", words);
    }
    if (!chart_.right_name.empty() && y_.logarithmic) {
      for (const double value : round_ticks(std::log(y_.low), std::log(y_.high), std::max(3, height_ / 55))) {
        const double at = y_(std::exp(value));
        svg_ += line(right_, at, right_ + 4, at, "axis");
        svg_ += text(right_ + 8, at + 4, "start", "tick", tick_text(value));
      }
      svg_ += text(width_, 13, "end", "name", chart_.right_name);
    }
    for (const auto& [value, words] : x_ticks(columns)) {
      svg_ += line(x_(value), bottom_, x_(value), bottom_ + 4, "axis");
      svg_ += text(middle_of({value, words}), bottom_ + 18, "middle", "tick", words);
    }
    svg_ += line(left_, bottom_, right_, bottom_, "axis");
    svg_ += text(0, 13, "start", "name", chart_.y_name);
    svg_ += text(right_, height_ - 4, "end", "name", chart_.x_name);
  }

  // As many ticks as their texts have room for, about `about` at most.
  std::vector<Tick> x_ticks(int about) const {
    std::vector<Tick> ticks = with_texts(round_ticks(x_.low, x_.high, about));
    if (counts_) std::erase_if(ticks, [](const Tick& tick) { return !is_whole(tick.value); });
    for (auto& [value, words] : ticks)
      if (const auto k = static_cast<std::size_t>(value); k < x_texts_.size()) words = x_texts_[k];
    constexpr double between = 8;
    const auto overlap = [&](const Tick& a, const Tick& b) {
      return middle_of(b) - middle_of(a) < (width_of_tick(a.text) + width_of_tick(b.text)) / 2 + between;
    };
    if (std::ranges::adjacent_find(ticks, overlap) == ticks.end()) return ticks;
    if (about > 1) return x_ticks(about - 1);
    ticks.resize(1);
    return ticks;
  }
  // The middle of a tick's text below the x axis, within the picture.
  double middle_of(const Tick& tick) const {
    const double half = width_of_tick(tick.text) / 2;
    return std::clamp(x_(tick.value), half, std::max(half, width_ - half));
  }

  void add_band(const Chart::Band& band) {
    std::string path;
    const auto drawn = [&](std::size_t i) {
      return can_be_drawn(band.x[i]) && can_be_drawn(band.low[i]) && can_be_drawn(band.high[i]);
    };
    for (std::size_t i = 0; i < band.x.size(); ++i)
      if (drawn(i))
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x_(band.x[i]), y_(band.high[i]));
    for (std::size_t i = band.x.size(); i-- > 0;)
      if (drawn(i)) path += fmt::format("L{:.1f} {:.1f}", x_(band.x[i]), y_(band.low[i]));
    svg_ += fmt::format("<path d=\"{}Z\" class=\"band s{}\"/>\n", path,
                        (chart_.series.size() - 1) % series_styles);
  }

  void add_curve(const ChartSeries& series, std::size_t number) {
    std::string path, dots;
    Point last{};
    bool joined = false;
    const auto drawn = [&](std::size_t i) { return can_be_drawn(series.x[i]) && can_be_drawn(series.y[i]); };
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(i)) {
        joined = false;
        continue;
      }
      const Point at{x_(series.x[i]), y_(series.y[i])};
      path += fmt::format("{}{:.1f} {:.1f}", joined ? 'L' : 'M', at.x, at.y);
      const bool alone = !joined && (i + 1 == series.x.size() || !drawn(i + 1));
      if (series.points || alone)
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", at.x, at.y,
                            series.points || series.x.size() == 1 ? 3 : 2);
      occupy(joined ? last : at, at);
      last = at;
      joined = true;
    }
    svg_ +=
        fmt::format("<g class=\"series s{}\"><path d=\"{}\"/>{}</g>\n", number % series_styles, path, dots);
  }

  void add_mark() {
    if (!chart_.mark || !can_be_drawn(chart_.mark->x) || !can_be_drawn(chart_.mark->y)) return;
    const Point at{x_(chart_.mark->x), y_(chart_.mark->y)};
    std::vector<Point> places;
    for (const double away : {20, 34, 52, 75, 100})
      for (const double side : {-1.0, 1.0})
        for (const double along : {0.0, -50.0, 50.0, -100.0, 100.0})
          places.push_back({at.x + along, at.y + side * away});
    const Point place = best_place(places, chart_.mark->text);
    const double edge = place.y < at.y ? -1 : 1;
    svg_ += line(at.x, at.y + edge * 5.5, at.x, place.y - edge * 8, "leader");
    svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" class=\"mark\"/>\n", at.x, at.y);
    add_name(place, chart_.mark->text, "mark-name halo");
  }

  void add_level_name(const Chart::Level& level) {
    std::vector<Point> places;
    for (const double above : {-11.0, 11.0})
      for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0})
        places.push_back({left_ + part * (right_ - left_), y_(level.y) + above});
    add_name(best_place(places, level.name), level.name, "level-name halo");
  }

  // Centred; moved inside the frame.
  Point inside(Point middle, std::string_view words) const {
    const double half = width_of(words) / 2;
    return {std::clamp(middle.x, left_ + 4 + half, std::max(left_ + 4 + half, right_ - 4 - half)),
            std::clamp(middle.y, top + 6, bottom_ - 8)};
  }

  // The first of the places with least in the way.
  Point best_place(const std::vector<Point>& places, std::string_view words) const {
    Point best{};
    std::ptrdiff_t least = -1;
    for (const Point& place : places) {
      const Point middle = inside(place, words);
      const auto hit = std::ranges::count_if(occupied_, [&](const Point& p) {
        return std::abs(p.x - middle.x) < width_of(words) / 2 + 3 && std::abs(p.y - middle.y) < 9;
      });
      if (least < 0 || hit < least) least = hit, best = middle;
    }
    return best;
  }

  void add_name(Point middle, std::string_view words, const char* style) {
    svg_ += text(middle.x, middle.y + 4, "middle", style, words);
    occupy({middle.x - width_of(words) / 2, middle.y}, {middle.x + width_of(words) / 2, middle.y});
  }

  // An estimate, since the font is not known.
  static double width_of(std::string_view words) { return 7.2 * static_cast<double>(words.size()); }

  // Samples a line two units apart, within the picture.
  void occupy(Point from, Point to) {
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    double begin = 0, end = length;
    const auto cut = [&](double at, double slope, double low, double high) {
      if (slope == 0) return;
      const auto [first, last] = std::minmax({(low - at) / slope, (high - at) / slope});
      begin = std::max(begin, 2 * std::ceil(first / 2)), end = std::min(end, last);
    };
    if (length > 0) {
      cut(from.x, (to.x - from.x) / length, 0, width_);
      cut(from.y, (to.y - from.y) / length, 0, height_);
    }
    for (double along = begin; along <= end; along += 2) {
      const double part = length > 0 ? along / length : 0;
      occupied_.push_back({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)});
    }
  }

  const Chart& chart_;
  const int width_, height_;
  const std::string id_;
  const double right_ = width_ - (chart_.right_name.empty() ? 12 : 40), bottom_ = height_ - 38;
  const Axis y_ = y_axis(chart_, bottom_, top);
  const std::vector<Tick> y_ticks_ = ticks_of(y_, std::max(3, height_ / 55));
  const double left_ = left_of(y_ticks_);
  const Axis x_ = x_axis(chart_, left_, right_);
  const std::vector<std::string> x_texts_ = short_texts(chart_.x_texts);
  const bool counts_ = std::ranges::all_of(  // steps, days: between two of them is nothing
      chart_.series, [](const ChartSeries& series) { return std::ranges::all_of(series.x, is_whole); });
  const std::vector<Chart::Level> levels_ = levels_of(chart_);
  std::string svg_;
  std::vector<Point> occupied_;
};

}  // namespace

std::string html_escaped(std::string_view text) {
  constexpr std::string_view special = "&<>\"'";
  constexpr std::string_view entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string result;
  for (const char c : printable(text, "\n\t")) {
    const std::size_t k = special.find(c);
    if (k == special.npos)
      result += c;
    else
      result += entities[k];
  }
  return result;
}

std::string chart_svg(const Chart& chart, int width, int height, const std::string& id) {
  return Drawing(chart, width, height, id).svg();
}

std::string chart_json(const Chart& chart) {
  const auto string = [](const std::string& text) { return json_text(nlohmann::json(text)); };
  const auto numbers = [](const std::vector<double>& values, int digits) {
    std::string list;
    for (const double value : values)
      list +=
          (list.empty() ? "" : ",") + (std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "null");
    return "[" + list + "]";
  };
  const DrawnRange range = range_of_y(chart, false);
  const int digits =
      digits_for(std::max(std::abs(range.low), std::abs(range.high)), (range.high - range.low) / 1e5, 6);
  std::string series, result;
  for (const ChartSeries& s : chart.series)
    series += fmt::format("{}{{\"name\":{},\"x\":{},\"y\":{}}}", series.empty() ? "" : ",", string(s.name),
                          numbers(s.x, 15), numbers(s.y, digits));  // x may be a step among millions
  // "</script>" in a name does not end the script that it stands in.
  std::string texts;
  for (const std::string& text : chart.x_texts) texts += (texts.empty() ? "" : ",") + string(text);
  for (const char c :
       fmt::format("{{\"x\":{},\"texts\":[{}],\"series\":[{}]}}", string(chart.x_name), texts, series))
    result += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return result;
}

}  // namespace unroll
