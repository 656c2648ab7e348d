#include "training/program/run/processes.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include <fmt/ranges.h>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/hash.h"
#include "framework/kernels/kernels.h"
#include "framework/processes/processes.h"
#include "training/files/gradient_statistics.h"
#include "training/program/cli/console.h"
#include "training/program/run/session.h"
#include "training/steps/gradient_exchange.h"
#include "training/steps/shard_tree.h"

namespace unroll {

namespace {

std::string shared_by(int shards) {
  const std::vector<int> counts = processes_for(shards);
  return fmt::format("{}{}{}", fmt::join(counts.begin(), counts.end() - 1, ", "),
                     counts.size() > 1 ? " or " : "", counts.back());
}

// Bytes that one process sends, and receives, in a step.
int64_t bytes_of_step(std::span<const int64_t> buckets, int processes, int shards) {
  return std::ranges::max(exchanged_bytes(buckets, processes, shards));
}

// Operations per second of a product like those in a step of a small part of a batch. On a GPU a step's products are at
// most this fast.
double measured_rate() {
  constexpr int rows = 128, width = 512;
  const Tensor x = Tensor::full({rows, width}, 0.5f), w = Tensor::full({width, width}, 0.5f),
               y({rows, width});
  double best = 1e30;
  for (int i = 0; i < 8; ++i) {
    synchronize();
    const double begin = clock_seconds();
    gemm(x, transposed(w), overwrite(y));
    synchronize();
    best = std::min(best, clock_seconds() - begin);
  }
  return 2.0 * rows * width * width / best;
}

// "about 12 % of a step". On a GPU "at most about …", since more than products takes time there.
std::string share_of_step(double exchange, double products) {
  return fmt::format("{}about {:.0f} % of a step", on_gpu() ? "at most " : "",
                     100 * exchange / (exchange + products));
}

std::string fingerprint_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  uint64_t hash = hash_of_nothing;
  for (std::vector<char> some(1 << 16); file;) {
    file.read(some.data(), std::ssize(some));
    for (std::streamsize i = 0; i < file.gcount(); ++i)
      hash = hash_with(hash, static_cast<unsigned char>(some[static_cast<size_t>(i)]));
  }
  return fmt::format("{:016x}", hash);
}

// Facts that must be equal on all ranks, in the order of comparison.
using Facts = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += name + '\0' + value + '\0';
  return text;
}
Facts facts_in(const std::string& text) {
  Facts facts;
  for (size_t at = 0; at < text.size();) {
    std::string parts[2];
    for (std::string& part : parts) part = text.c_str() + at, at += part.size() + 1;
    facts.emplace_back(parts[0], parts[1]);
  }
  return facts;
}

std::string in_words(const std::string& fact) {
  for (const auto& [name, words] : {std::pair{"program", "another build of the program"},
                                    {"text", "another text to train on"},
                                    {"valid_text", "another text to validate on"},
                                    {"vocabulary", "another vocabulary"},
                                    {"series", "another series"},
                                    {"valid_rows", "other rows to validate on"},
                                    {"bucket", "another UNROLL_BUCKET_BYTES in its environment"},
                                    {"weights", "other first weights"}})
    if (fact == name) return words;
  return fmt::format("another '{}'", fact);
}

}  // namespace

void check_processes(const TrainingSection& training) {
  const int count = process_count(), shards = training.shards;
  require_input(
      shards > 1 || count == 1,
      "mpirun started {0} processes, and without shards each would train the same model by itself: add "
      "'shards = {0}' to [training] in the recipe, or --set training.shards={0}",
      count);
  require_input(shards % count == 0, "training.shards = {}: {} processes cannot share them evenly; {} can",
                shards, count, shared_by(shards));
}

void print_processes(const TrainingSection& training, const ParameterSet& params, double operations) {
  const int shards = training.shards;
  if (shards == 1) return;
  show("Processes: a step has {} shards, which {} processes can share\n", shards, shared_by(shards));
  if (on_gpu()) {
    const std::string why = why_no_gpu_transport();
    show("  {}\n", why.empty()
                       ? "Gradients go over NCCL where each process has a GPU of its own: not measured."
                       : fmt::format("Gradients go through the host's memory: {}.", why));
  }
  const double computing = operations / measured_rate();
  std::string title = fmt::format("  {:<11}{:>9}", "", "a step");
  constexpr int networks[] = {1, 10, 25, 100};  // Gbit/s
  for (const int gbit : networks)
    if (computing > 0) title += fmt::format("{:>14}", fmt::format("{} Gbit/s", gbit));
  show("{}\n", title);
  for (const int processes : processes_for(shards)) {
    if (processes == 1) continue;
    const int64_t numbers = params.count(), sent = bytes_of_step({&numbers, 1}, processes, shards);
    std::string line = fmt::format("  {:<11}{:>9}", fmt::format("{} of them", processes), format_bytes(sent));
    for (const int gbit : networks) {
      const double exchange = static_cast<double>(sent) / (gbit * 1e9 / 8);
      if (computing > 0)
        line += fmt::format("{:>12.0f} %", 100 * exchange / (exchange + computing / processes));
    }
    show("{}\n", line);
  }
  show("  A step: the bytes that each process sends; it receives as many.{}\n\n",
       computing > 0
           ? fmt::format(
                 " Then the exchange's part of a step by the\n  network's rate alone, if one process "
                 "computes its products in {:.2g} s (their rate is measured\n  now) and others share "
                 "that evenly: computed, not measured (docs/processes.md).{}",
                 computing,
                 on_gpu() ? " On a GPU a step takes\n  longer than its products, so this is the most." : "")
           : "");
}

void Session::introduce_processes() {
  const int shards = run_.sections.training.shards, processes = process_count();
  auto& facts = run_.description.facts;
  if (shards == 1) return;
  if (processes == 1) {
    facts.push_back(
        {"shards", fmt::format("{}", shards),
         fmt::format("of a step, one after the other; {} processes can share them", shared_by(shards))});
    return;
  }
  const std::string over = exchanged_over();
  const std::vector<int64_t> buckets = sizes_of(gradient_buckets(run_.params, bytes_of_bucket()));
  const double exchange = seconds_of_exchange(buckets, shards);
  std::string expected = fmt::format("{:.3g} ms when it was tried", 1e3 * exchange);
  if (run_.operations > 0)
    expected += ", " + share_of_step(exchange, run_.operations / processes / measured_rate());
  facts.push_back({"shared", fmt::format("by {} processes over {}, {} shard{} each", processes, over,
                                         shards / processes, shards == processes ? "" : "s")});
  facts.push_back({"", fmt::format("{} sent and received by each in a step, {} the backward: {}",
                                   format_bytes(bytes_of_step(buckets, processes, shards)),
                                   exchanges_beside_backward() ? "beside" : "after", expected)});
}

void Session::compare_ranks() const {
  if (process_count() == 1) return;
  Facts mine = {{"program", fingerprint_of_program()},
                {"recipe", run_.recipe},
                {"kernels", kernels().name},
                {"bucket", fmt::format("{}", bytes_of_bucket())}};
  for (const auto& [key, value] : run_.metadata)
    if (key != "recipe") mine.emplace_back(key, value);
  if (!options_.resume) mine.emplace_back("weights", fingerprint_of(run_.params));
  const std::vector<std::string> all = gather_from_ranks(text_of(mine));
  for (size_t rank = 1; is_first_process() && rank < all.size(); ++rank) {
    const Facts theirs = facts_in(all[rank]);
    for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
      const auto& [name, here] = mine[i];
      const std::string& there = theirs[i].second;
      if (theirs[i] == mine[i]) continue;
      if (name == "recipe")
        for (const DifferingKey& key : run_.differing_keys({run_.recipe_name, "its recipe", there}))
          throw InputError(
              fmt::format("rank {} has another recipe than rank 0: '{}' is {} there, and {} here", rank,
                          key.path, key.before, key.after));
      if (name == "kernels")
        throw InputError(fmt::format(
            "rank {} computes with kernels for {}, and rank 0 with those for {}, whose bits differ: "
            "UNROLL_ISA in the environment gives all the same",
            rank, there, here));
      throw InputError(fmt::format("rank {} has {} than rank 0", rank, in_words(name)));
    }
    require_input(theirs.size() == mine.size(), "rank {} has other facts about its data than rank 0", rank);
  }
  gather_from_ranks("");  // until rank 0 has compared
}

}  // namespace unroll
