#include "training/report/page.h"

#include <fmt/format.h>

namespace unroll {

using Figure = RunDescription::Figure;
using Table = RunDescription::Table;

namespace {

std::string legend(const Chart& chart) {
  std::string items;
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    items += fmt::format("<li class=\"s{}\">{}</li>", i % series_styles, html_escaped(chart.series[i].name));
  if (chart.band) items += "<li class=\"of-band\">" + html_escaped(chart.band->name) + "</li>";
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

std::string with_class(std::string svg, const char* name) {
  return svg.insert(4, fmt::format(" class=\"{}\"", name));
}

std::string cell_html(const std::string& cell, bool number) {
  if (number && cell.ends_with('%'))
    return fmt::format("<td class=\"number share\" style=\"--part:{}%\">{}</td>",
                       std::string_view(cell).substr(0, cell.find_first_of(" %")), html_escaped(cell));
  return fmt::format("<td{}>{}</td>", number ? " class=\"number\"" : "", html_escaped(cell));
}

void replace(std::string& page, std::string_view place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

std::string figure_html(const std::string& inside, const Chart& chart, const std::string& caption) {
  return fmt::format("<figure>\n{}{}<script type=\"application/json\">{}</script>\n</figure>\n", inside,
                     caption.empty() ? "" : "<figcaption>" + html_escaped(caption) + "</figcaption>\n",
                     chart_json(chart));
}

std::string chart_html(const Chart& chart, int height, const std::string& id, const std::string& caption) {
  return figure_html(legend(chart) + with_class(chart_svg(chart, 980, height, id), "wide") +
                         with_class(chart_svg(chart, 360, height * 4 / 5, id + "-narrow"), "narrow"),
                     chart, caption);
}

std::string tiles_html(const std::vector<Figure>& figures) {
  if (figures.empty()) return "";
  std::string html = "<dl class=\"figures\">\n";
  for (const Figure& f : figures)
    html += fmt::format("<div><dt>{}</dt><dd class=\"value\">{}</dd><dd>{}</dd></div>\n",
                        html_escaped(f.name), html_escaped(f.value), html_escaped(f.note));
  return html + "</dl>\n";
}

std::string table_html(const Table& table, std::size_t best) {
  std::string html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" +
                     html_escaped(table.title) + "\"><table>\n<thead><tr>";
  const std::vector<bool> numeric = table.numeric();
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", numeric[c] ? " class=\"number\"" : "",
                        html_escaped(table.columns[c]));
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    html += r == best ? "<tr class=\"best\">" : "<tr>";
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) html += cell_html(table.rows[r][c], numeric[c]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string section_html(const std::string& title, const std::string& inside) {
  return "<section>\n<h2>" + html_escaped(title) + "</h2>\n" + inside + "</section>\n";
}

std::string section_html(const Table& table) {
  std::string html = table.rows.empty() ? "" : table_html(table);
  if (!table.note.empty()) html += "<p class=\"soft\">" + html_escaped(table.note) + "</p>\n";
  return section_html(table.title, html);
}

std::string page_html(const std::string& title, const std::string& body) {
  std::string page(report_template());
  replace(page, "[[body]]", body);  // first: a title may have any text
  replace(page, "[[title]]", html_escaped(title));
  return page;
}

}  // namespace unroll
