#include "training/steps/on_this_thread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/graph.h"
#include "framework/memory.h"
#include "framework/profile.h"
#include "framework/signals.h"

namespace unroll {

namespace {

constexpr int most_skipped = 10;  // steps in a row

// "3 x linear [700, 2600], 20.8 MiB": results of operations, with equal ones grouped.
std::vector<std::string> largest_entries(const Tape& tape, size_t most) {
  struct Alike {
    int times = 0;
    int64_t numbers = 0;
  };
  std::map<std::string, Alike> by_text;
  for (const Tape::Entry& entry : tape.entries()) {
    Alike& alike = by_text[entry.text];
    ++alike.times, alike.numbers += entry.numbers;
  }
  std::vector<std::pair<double, std::string>> entries;
  for (const auto& [text, alike] : by_text) {
    const double mib = static_cast<double>(alike.numbers) * sizeof(real) / (1 << 20);
    const std::string times = alike.times > 1 ? fmt::format("{} x ", alike.times) : "";
    entries.emplace_back(mib, fmt::format("{}{}, {:.1f} MiB", times, text, mib));
  }
  std::ranges::sort(entries, std::greater<>());
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min(most, entries.size()); ++i) result.push_back(entries[i].second);
  return result;
}

// Advice for a step that ran out of memory, in one line: the refusal, the largest entries of the tape, and for each key the most
// that can fit. That is an upper bound, since the rest of the step might have needed more. `kept`: bytes that any window needs.
std::string memory_advice(const MemoryRefused& refusal, const Tape& tape, int64_t kept,
                          const WindowSizes& sizes) {
  std::string text = refusal.what();
  const std::vector<std::string> largest = largest_entries(tape, 3);
  if (!largest.empty()) text += fmt::format("; largest on the tape: {}", fmt::join(largest, "; "));
  const double needed = static_cast<double>(refusal.in_use + refusal.asked - kept),
               room = static_cast<double>(refusal.room - kept);
  // More than the weights and all that is as large.
  const bool of_windows = needed > static_cast<double>(kept);
  std::vector<std::string> keys;
  for (const auto& [key, size] : sizes) {
    // If the system does not say how much memory there is, only name the keys.
    if (refusal.room == 0 && of_windows && size > 1) keys.push_back(fmt::format("{} = {}", key, size));
    if (refusal.room == 0 || needed <= 0) continue;
    if (const auto most = static_cast<int>(std::min(1.0, room / needed) * size); most >= 1 && most < size)
      keys.push_back(fmt::format("{} = {} in place of {}", key, most, size));
  }
  if (keys.empty()) return text + less_for_weights;
  return text + (refusal.room == 0 ? fmt::format("; less than {} needs less", fmt::join(keys, ", or "))
                                   : fmt::format("; what can fit at most: {}", fmt::join(keys, ", or ")));
}

}  // namespace

void OnThisThread::take(const TrainingTask& task) {
  Step step = next_step();
  if (step.end - step.begin > 1 || training_.options.shards > 1)  // else carried after the step only
    for (const NamedTensor& named : task.carried) step.carried_before.push_back(named.tensor.clone());
  step.can_begin_again = !task.carry || !step.carried_before.empty();
  try {
    compute(task, step);
    add_to_totals(step);
  } catch (const Diverged& reason) {
    give_up(task, step);
    if (training_.options.on_divergence != OnDivergence::skip) throw;
    skip(reason);
  } catch (...) {  // the next run() begins this step again
    give_up(task, step);
    throw;
  }
  training_.state.window = step.end;
}

OnThisThread::Step OnThisThread::next_step() {
  const TrainerState& state = training_.state;
  const LossScale* const loss = training_.loss_scale();
  return {.begin = state.window,
          .end = std::min(state.window + training_.options.accumulate, state.windows),
          .window = state.window,
          .scale = loss ? loss->scale : 1};
}

void OnThisThread::compute(const TrainingTask& task, Step& step) {
  for (; step.window < step.end; ++step.window) {
    if (step.window > step.begin && step.can_begin_again) stop_if_signalled();
    load(task, step);
    const WindowLoss loss = differentiate(
        task, step, {}, [&](const WindowLoss& of_window, Tape& tape) { add_loss(of_window, step, tape); });
    count(step, loss.facts());
    if (step.is_last()) update(task, step);
    if (task.carry) task.carry();
  }
}

int64_t OnThisThread::load(const TrainingTask& task, const Step& step) const {
  return task.load ? task.load(training_.chosen(step.window)) : 0;
}

WindowLoss OnThisThread::loss_of(const TrainingTask& task, const Step& step) const {
  return task.loss(training_.chosen(step.window));
}

void OnThisThread::carry(const TrainingTask& task, const WindowLoss& loss) {
  if (loss.carry)
    loss.carry();
  else if (task.carry)
    task.carry();
}

WindowLoss OnThisThread::differentiate(const TrainingTask& task, const Step& step, TapeOptions options,
                                       const BeforeBackward& before_backward) {
  options.part = step.part();
  Tape tape(options);
  try {
    WindowLoss loss = loss_of(task, step);
    if (step.shard.of > 1 && !loss.objective.value().defined()) return loss;
    require(loss.count >= 0, "trainer: window {} has {} predictions", step.window, loss.count);
    before_backward(loss, tape);
    tape.backward(loss.objective, static_cast<real>(step.scale * loss.share));
    return loss;
  } catch (const MemoryRefused& refusal) {
    if (recording_graph()) throw;  // it may well fit without
    throw OutOfMemory(memory_advice(refusal, tape, bytes(), training_.options.window_sizes));
  }
}

void OnThisThread::add_loss(const WindowLoss& loss, Step& step, Tape& tape) {
  const auto mean = static_cast<double>(loss.mean.item());
  if (!std::isfinite(training_.shown(mean)) || !std::isfinite(loss.objective.item()))
    throw training_.state.diverged(step.window,
                                   fmt::format("step {}: the loss is {}{}", training_.step(), mean,
                                               std::isfinite(mean) && !std::isfinite(training_.shown(mean))
                                                   ? ", and its exp, the perplexity, is not finite"
                                                   : ""),
                                   tape.first_not_finite());
  step.total += mean * static_cast<double>(loss.count);
}

bool OnThisThread::count(Step& step, const LossFacts& facts) {
  if (std::exchange(step.counted, step.window) == step.window) return false;
  step.count += facts.count;
  step.rate_factor += facts.rate_factor;
  return true;
}

void OnThisThread::add_to_totals(const Step& step) {
  TrainerState& state = training_.state;
  state.total += step.total, state.interval_total += step.total;
  state.count += step.count, state.interval_count += step.count, training_.times.count += step.count;
  state.skipped_in_a_row = 0;
}

void OnThisThread::reduce_gradients(const TrainingTask& task) {
  if (!task.reduce_gradients) return;
  const Profile::Part part("reduce_gradients");
  task.reduce_gradients();
}

void OnThisThread::update(const TrainingTask& task, const Step& step) {
  reduce_gradients(task);
  const StepOptions options = options_of(step);
  LossScale* const loss = training_.loss_scale();
  try {
    const Profile::Part part("optimizer step");
    training_.gradient_norm = training_.optimizer.step(options);
    if (loss) loss->succeeded();
  } catch (const Diverged& reason) {
    training_.optimizer.parameters().spend_gradients();
    if (loss && loss->overflowed()) return;
    const char* const scaled = loss ? " in fp16, with the loss scale at its smallest, 1" : "";
    give_up(task, step);
    const auto [window, first] = trace(task, step);
    throw training_.state.diverged(window, reason.what() + std::string(scaled), first);
  }
}

StepOptions OnThisThread::options_of(const Step& step) {
  Optimizer& optimizer = training_.optimizer;
  TrainerState& state = training_.state;
  if (const auto& schedule = state.schedule) {
    const int64_t of_step = training_.step();
    optimizer.set_learning_rate(state.next_rate(of_step));
    if (const auto momentum = schedule->momentum_at(of_step)) optimizer.set_momentum(*momentum);
  }
  state.learning_rate = optimizer.learning_rate();
  const LossScale* const loss = training_.loss_scale();
  const auto n = static_cast<double>(step.end - step.begin);
  // The norm is measured even if nothing is clipped: it shows what is not finite before it reaches a weight.
  const double clip = training_.options.clip;
  return {.max_norm = clip > 0 ? clip : std::numeric_limits<double>::infinity(),
          .factor = 1 / n / (loss ? loss->scale : 1),
          .rate_factor = step.rate_factor / n};
}

void OnThisThread::give_up(const TrainingTask& task, const Step& step) {
  training_.optimizer.parameters().spend_gradients();
  for (size_t i = 0; i < step.carried_before.size(); ++i)
    task.carried[i].tensor.copy_from(step.carried_before[i]);
}

void OnThisThread::skip(const Diverged& reason) {
  TrainerState& state = training_.state;
  ++state.skipped;
  if (++state.skipped_in_a_row >= most_skipped)
    throw Diverged(fmt::format("{}; {} steps in a row were left out", reason.what(), most_skipped));
  training_.note(fmt::format("left out: {}", reason.what()));
}

// Computes them once more, with the same masks, on tapes that keep what they see.
std::pair<int64_t, std::string> OnThisThread::trace(const TrainingTask& task, const Step& of) {
  const int64_t last = of.end - 1;
  Step step = of;
  try {
    for (step.window = step.can_begin_again ? step.begin : last; step.window <= last; ++step.window) {
      Tape tape({.keep_gradients = true, .part = step.part()});
      load(task, step);
      const WindowLoss loss = loss_of(task, step);
      if (!loss.objective.value().defined()) continue;
      tape.backward(loss.objective);
      if (const std::string first = tape.first_not_finite(); !first.empty()) return {step.window, first};
      if (step.window < last) carry(task, loss);
    }
  } catch (const MemoryRefused&) {}  // such a tape takes more than others: then without
  return {last, ""};
}

int64_t OnThisThread::bytes() const {
  const int64_t slabs = 2 + std::ssize(training_.optimizer.whole_state().slabs);
  return slabs * training_.optimizer.parameters().values().size() * static_cast<int64_t>(sizeof(real));
}

}  // namespace unroll
