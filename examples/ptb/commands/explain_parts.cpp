#include "examples/ptb/commands/explain_parts.h"

#include <fmt/format.h>

#include "training/program/cli/console.h"
#include "training/report/progress.h"

namespace ptb {

void print_table(const std::vector<ExplainedLine>& lines, const std::string& unit,
                 const std::string& total_name) {
  double total = 0;
  for (const ExplainedLine& line : lines) {
    show("  {:<28}{:>9}{}   {}\n", line.what, format_number(line.amount), unit, line.how);
    total += line.amount;
  }
  show("  {:<28}{:>9}{}\n\n", total_name, format_number(total), unit);
}

std::vector<ExplainedLine> transformer_products(const TransformerConfig& c) {
  const double layers = c.layers, dim = c.dim, units = c.units();
  const char* const at_once = "one product over all steps";
  return {{"queries, keys, values", at_once, 6 * layers * dim * dim},
          {"attention", fmt::format("each step with {} and itself, by row and head", c.memory),
           attention_operations(c)},
          {"what attention gives", at_once, 2 * layers * dim * dim},
          {"feed-forward", "two products over all steps", 4 * layers * dim * units}};
}

double transformer_values(const TransformerConfig& c, int steps) {
  // Norms, queries, keys and values twice, the attention's output, both sums; the units before and after gelu; the
  // dropout; keys and values together with the memory's.
  const double dim = c.dim, units = c.units(), dropped = c.dropout > 0 ? 2 * dim + units : 0;
  return c.layers * (13 * dim + 2 * units + dropped + 2 * dim * (c.memory + steps) / steps);
}

double transformer_memory(const TransformerConfig& c, int batch) {
  return 2.0 * c.layers * c.memory * batch * c.dim * sizeof(real);
}

}  // namespace ptb
