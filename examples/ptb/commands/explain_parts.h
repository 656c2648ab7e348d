// Parts of `ptb explain`.
#pragma once

#include <string>
#include <vector>

#include "examples/ptb/model/model.h"

namespace ptb {

struct ExplainedLine {
  std::string what, how;
  double amount;
};
// The lines, and their sum.
void print_table(const std::vector<ExplainedLine>& lines, const std::string& unit,
                 const std::string& total_name);

// Costs of a transformer: operations of its products for one token; numbers that one token keeps for the gradient, in
// windows of `steps` steps; bytes of the memory that crosses windows.
std::vector<ExplainedLine> transformer_products(const TransformerConfig& config);
double transformer_values(const TransformerConfig& config, int steps);
double transformer_memory(const TransformerConfig& config, int batch);

}  // namespace ptb
