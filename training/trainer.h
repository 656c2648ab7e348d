// The training loop: one for every program, and for a model of your own.
//
//   Adam adam(model.params, {.learning_rate = 1e-3});
//   Trainer trainer(adam, {.epochs = 10, .clip = 1, .perplexity = true});
//   BpttWindows windows(corpus.train, {.batch = 20, .steps = 35});
//   RecurrentState state = model.lstm.zero_state(20);
//   RecurrentVars next;
//   trainer.run({.windows = windows.count(),
//                .begin_epoch = [&](int) { state.reset(); },
//                .loss = [&](int64_t k) {
//                  const Window window = windows.at(k);
//                  auto out = model.lstm(model.embed(window.input), state);
//                  next = out.state;
//                  Var loss = softmax_cross_entropy(model.decoder, out.y, window.target);
//                  return mean_loss(loss, window.target.size());
//                },
//                .carry = [&] { state = next; },
//                .validate = [&] { return perplexity(model, corpus.valid); }});
//
// The task decides what is trained on: windows of text or of a series, anything with a loss. The trainer
// knows the order of things: gradients of one or several windows, clipping, a step, what crosses to the next
// window; after an epoch the validation score, the schedule, the log, a checkpoint, a line for whoever is
// watching. On a GPU the host runs ahead of it (run_ahead.h). With a folder, the run can be interrupted and goes on in the
// same bits: checkpoint.h shows how.
//
// In fp16 the loss is scaled (loss_scale.h). A step whose scaled gradient overflows is left out, and is no divergence: its
// windows are carried and counted. One whose gradient is not finite at the smallest scale is.
//
// With shards (TrainerOptions::shards) a step's gradient is a sum in a fixed tree, and processes that mpirun started together
// share them (framework/processes/processes.h): every one has the model, the optimizer and this loop, and computes its
// shards. Any number of processes that divides the shards gives the same bits. Rank 0 alone prints and writes, and it validates
// what cannot be shared; what it finds, and whether anyone was asked to end, is told to all.
//
// The rate ("words/s") is what this process predicted in training divided by the wall time that took;
// validation and saving are not counted. An epoch's training loss is taken as training went, with dropout and
// with weights still changing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "training/checkpoint.h"
#include "training/memory_advice.h"
#include "training/ranks.h"
#include "training/report/log.h"
#include "training/report/progress.h"
#include "training/run_ahead.h"
#include "training/shard_sums.h"
#include "training/shared_score.h"

namespace unroll {

// The loss of one window.
struct WindowLoss {
  Var objective;           // is differentiated
  Var mean;                // what is reported: the mean over what was predicted (nats, squared errors) …
  int64_t count = 0;       // … and of how many (tokens, values)
  double rate_factor = 1;  // of the learning rate of the window's step; of several windows the mean
  double share = 1;        // of a shard: its count by that of the whole window
  // Of a shard, in place of TrainingTask::carry: its own state, to the next window. Called after its backward.
  std::function<void()> carry = {};
};
// For a mean over `count` predictions that is both minimised and reported.
WindowLoss mean_loss(const Var& mean, int64_t count);

struct EpochReport;

struct TrainingTask;

// Takes part in each epoch of a task, in every process.
class EpochObserver {
 public:
  virtual ~EpochObserver() = default;
  // Called before anything else. Throws Error if it cannot take part.
  virtual void begin(const TrainingTask& task, Optimizer& optimizer) = 0;
  // Before an epoch, and where training goes on in the middle of one. `patience` as in TrainerOptions.
  virtual void begin_epoch(TrainerState& state, int patience) = 0;
  // Before validation, with the weights in use. Returns figures, which stand before the task's metrics.
  virtual std::vector<Scalar> end_epoch(TrainerState& state, Ranks& ranks) = 0;
  // Scores the weights that Trainer::score_anew() looks at.
  virtual void score_anew(TrainerState& state, Ranks& ranks) = 0;
};

// A task to train. Only `windows` and `loss` are needed.
struct TrainingTask {
  int64_t windows = 0;  // of an epoch
  // If epochs differ in their windows, or in their order: cuts those of an epoch, counted from 1, and returns how
  // many there are, in place of `windows`. It must depend on the epoch's number alone: it is asked before
  // begin_epoch, and again where training goes on in the middle of an epoch.
  std::function<int64_t(int epoch)> cut = {};
  // In place of all windows in their order: those of an epoch that are taken, in the order in which they are. Some may come
  // twice, others not at all. Like `cut`, which is asked before it, it must depend on the epoch's number alone.
  std::function<std::vector<int64_t>(int epoch)> sample = {};
  // Before the first window of an epoch, counted from 1: state to zero. Not asked where training goes on in the middle: what
  // is to hold for an epoch and stands in no checkpoint (Parameter::frozen) is set in `cut`.
  std::function<void(int epoch)> begin_epoch = {};
  // Is recorded, with dropout. Asked a second time for the same windows where the gradient was not finite, and for one whose
  // graph could not be recorded.
  std::function<WindowLoss(int64_t window)> loss = {};
  // With several shards, in place of `load` and `loss`: the loss of one shard of a window, over its streams or its windows of
  // a series alone, with its share. Every shard of a step has masks of its own. `objective` is empty where the shard has none.
  std::function<WindowLoss(int64_t window, const Shard& shard)> shard_loss = {};
  // If there is one, it is called before `loss`: brings the window's data to where `loss` finds those of any window,
  // and returns a number that is the same for windows of which `loss` asks for the same operations, on memory in the same
  // places and with the same constants: how many steps there are, how many targets are scored. Needed by a graph.
  std::function<int64_t(int64_t window)> load = {};
  // Between a step's last gradient and clipping: may change gradients, as ParameterSet::reduce_gradients does. They are sums over
  // the step's windows, of which the mean is taken later; in fp16 the loss scale is in them. Of several processes each is
  // asked, with the sum over all shards. What reads on the host cannot be recorded as a graph.
  std::function<void()> reduce_gradients = {};
  // After a window's gradients: what crosses to the next (`state = next`); of a shard, its streams'.
  std::function<void()> carry = {};
  // The validation score, the lower the better. Nothing is recorded. If it throws Interrupted
  // (stop_if_signalled), it is asked again after a resumption. Of several processes rank 0 is asked, unless they can share it.
  std::function<double()> validate = {};
  // If it has parts: what several processes share in place of `validate`. It must give the same bits.
  SharedScore shared_validation = SharedScore();
  // Members of an ensemble, say (members.h); none: nobody takes part.
  std::shared_ptr<EpochObserver> observer = {};
  // Figures of your own after each epoch, with the weights that `validate` sees: they stand in the epoch's line, in log,
  // TensorBoard and report under their names, of which none comes twice. Of several processes rank 0 is asked.
  std::function<std::vector<Scalar>()> metrics = {};
  // After each epoch, once it is saved. The weights are the averaged ones, where there are some. May throw Interrupted. Of
  // several processes it is called in rank 0.
  std::function<void(const EpochReport&)> after_epoch = {};
  // The buffers that `carry` writes: part of a checkpoint, by names of their own, so a run with a folder must name them. On
  // a GPU the host runs ahead only if it knows them, as it may have to go back; so may a step of several windows that is
  // left out. With several shards their dimension 1 is the streams: [layers, streams, …].
  std::vector<NamedTensor> carried = {};
};

// The answer to a step whose loss or gradient is not finite.
enum class OnDivergence : uint8_t {
  // Throw Diverged.
  stop,
  // Leave the step out: its windows change neither weights nor what is carried. Throws after 10 in a row.
  skip,
  // Go back to the checkpoint of the best epoch, and on from there at half the learning rate. Throws after 10. Before there
  // is a best one, to the last checkpoint: where that stands, and so the bits, then depend on when it was saved.
  rollback
};

struct TrainerOptions {
  int epochs = 1;
  double clip = 0;     // a step's gradient is scaled down to this norm; 0: never
  int accumulate = 1;  // windows whose mean gradient makes one step
  // Parts of a step whose gradients are computed by themselves. Any number of processes that divides it shares them.
  int shards = 1;
  std::optional<Schedule> schedule = {};  // without one the learning rate stays what the optimizer has
  // An Asgd starts to average when a validation score is above the best of those more than this many epochs
  // back (NonMonotoneTrigger); 0: when is its own affair.
  int non_monotone = 0;
  int patience = 0;  // ends after so many epochs without a better validation score; 0: never
  OnDivergence on_divergence = OnDivergence::stop;
  bool perplexity = false;  // losses are nats: reported as their exp
  std::string unit = "words";
  ProgressOptions progress = {};      // .mode = ProgressOptions::Mode::silent: nothing is printed
  std::filesystem::path folder = {};  // made if need be; gets log and checkpoints; empty: nothing is written
  CheckpointOptions checkpoints = {};
  int64_t log_every = 100;        // steps of an interval of the log
  WindowSizes window_sizes = {};  // for the advice where memory runs out
  // On a GPU: windows are recorded the second time that one of their kind comes, as CUDA graphs, and played from then on.
  // The bits stay the same (with our own kernels and cuBLAS; not measured with cuDNN), and the host has less to do.
  // Needs TrainingTask::load, and a `loss` that reads nothing on the host. Windows that cannot be recorded for
  // another reason (no memory) are computed as without, and one message says so.
  bool graph = false;
};

struct EpochReport {
  int epoch = 0;             // counted from 1
  double learning_rate = 0;  // of its last step
  double train = 0;          // mean loss, or perplexity
  std::optional<double> valid;
  bool best = false;    // the best `valid` so far
  int64_t count = 0;    // predictions
  double seconds = 0;   // of training, by this process
  double rate = 0;      // predictions per second
  int64_t skipped = 0;  // steps left out since their gradient overflowed in fp16
  std::vector<Scalar> metrics = {};  // the task's own
};

// Whether a run's folder has a checkpoint to go on from; a training that was killed before its first has none. One that was
// killed between the two files of its first epoch has the best one: it becomes the last. Throws InputError where the last is
// missing beside more than that: training is not begun again over what is left of a run. `advice` is what the message ends
// with, by whether there is a best one.
bool has_last_checkpoint(const std::filesystem::path& folder, const LogNames& names,
                         const std::function<std::string(bool has_best)>& advice = {});

class Trainer {
 public:
  // The optimizer must outlive the trainer.
  explicit Trainer(Optimizer& optimizer, TrainerOptions options = {});

  // Goes on where the folder's last checkpoint stands: run() then trains what is left. Nothing if there is no
  // checkpoint yet. The log is cut to what the checkpoint has seen. Throws InputError as read_checkpoint and
  // has_last_checkpoint, and where the epoch it stands in has other windows than the task, or is beyond the last one. Among the
  // differences is a learning rate of the next step that is not the one of the run so far.
  std::optional<Differences> resume(const TrainingTask& task);

  // After resume(), where the data or the way of scoring changed: validation scores of before and after do not compare. Scores
  // the best and the last weights by `task.validate` and keeps the better ones as the best; what looks at scores
  // (plateau, averaging) knows none but theirs from here on; patience counts from the best epoch. Without `validate` no
  // epoch is the best. Both checkpoints are written anew. Throws as run().
  void score_anew(const TrainingTask& task);

  // Trains until finished(). Throws Error where the folder has a run that resume() was not asked for, and where a checkpoint
  // or the log cannot be written; Diverged; Interrupted after a signal, once the complete steps are saved: a step of several windows
  // is given up between two of them, and resumption begins it again.
  void run(const TrainingTask& task);
  // From a callback: run() returns after the present epoch.
  void stop() { stopped_ = true; }
  // All epochs are complete, or patience is at its end, which is looked at between epochs.
  bool finished() const {
    return state_.epoch >= options_.epochs || (state_.window == 0 && out_of_patience());
  }
  bool out_of_patience() const { return state_.out_of_patience(options_.patience); }

  const TrainerState& state() const& { return state_; }
  TrainerState state() const&& { return state_; }
  void set_state(const TrainerState& state) { state_ = state; }
  const std::vector<EpochReport>& epochs() const& { return epochs_; }  // that this process completed
  std::vector<EpochReport> epochs() const&& { return epochs_; }
  // That resume() found no log, or what it left out of a damaged one, a line each.
  std::vector<std::string> damaged_log() const;
  int64_t count() const { return state_.all_count; }  // predictions of all complete epochs

  // Wall time of this process.
  struct Times {
    double training = 0, saving = 0, logging = 0;  // seconds
    int64_t count = 0;                             // predictions in training
    double rate() const { return training > 0 ? static_cast<double>(count) / training : 0; }
    Times since(const Times& then) const {
      return {training - then.training, saving - then.saving, logging - then.logging, count - then.count};
    }
  };
  // Of gradients between processes, in this run().
  GradientSums::Exchanged exchanged() const { return sums_ ? sums_->exchanged() : GradientSums::Exchanged(); }
  const Times& times() const& { return times_; }
  Times times() const&& { return times_; }

 private:
  void check(
      const TrainingTask& task) const;  // that it can be trained with these options, and in this folder
  void begin(const TrainingTask& task);
  int64_t windows_of(const TrainingTask& task);  // of the present epoch: how many are taken
  int64_t chosen(int64_t window) const;          // the task's number of it
  void train_epoch(const TrainingTask& task);
  void finish_epoch(const TrainingTask& task);
  void validate(const TrainingTask& task, EpochReport& report);
  void add_metrics(const TrainingTask& task, EpochReport& report);

  // A step of the optimizer, while its windows come.
  struct Step {
    int64_t begin, end;  // its windows
    int64_t window;      // the present one
    bool watched;        // by the host: as train_step() says
    double scale;        // of the loss
    // Of a watched step of several windows: what was carried to the first, where that is known.
    std::vector<Tensor> carried_before = {};
    bool can_begin_again = false;
    double total = 0, rate_factor = 0;  // sums over the windows so far: losses, where watched
    int64_t count = 0;
    int64_t ordered = -1;  // the last window that order() was called for
    Shard shard = {};      // of which the present window is computed
    bool is_last() const { return window + 1 == end; }
    uint32_t part() const { return static_cast<uint32_t>((window - begin) * shard.of + shard.number); }
  };
  void train_step(const TrainingTask& task, bool watched);
  RunAhead::WindowFacts train_window(const TrainingTask& task, Step& step);
  // begin_backward: called between the loss and the backward, of which the sums of shards then learn.
  using BeginBackward = std::function<void(const RunAhead::WindowFacts&)>;
  bool compute_window(const TrainingTask& task, Step& step, RunAhead::WindowFacts& facts,
                      const BeginBackward& begin_backward = {});
  static void carry_shard(const TrainingTask& task, const WindowLoss& loss);
  Step begin_step(const TrainingTask& task, bool watched);
  void add_loss(const WindowLoss& loss, Step& step, Tape& tape);
  void order(Step& step, const RunAhead::WindowFacts& facts);
  void update(const TrainingTask& task, const Step& step);
  void finish_step(const Step& step);
  // Forgets its gradients, and puts back what was carried before it.
  void give_up(const TrainingTask& task, const Step& step);
  StepOptions next_step(const Step& step);  // takes the schedule's learning rate
  std::pair<int64_t, std::string> trace(const TrainingTask& task, const Step& step);
  std::pair<int64_t, std::string> trace_here(const TrainingTask& task, const Step& step);
  LossScale* loss_scale();  // of a training in fp16, else nullptr: nothing is scaled
  int64_t bytes_of_slabs() const;

  // In shards.
  struct ShardFacts {
    double total = 0, rate_factor = 0;
    int64_t count = 0;
  };
  // What all ranks know of a step's shards, once they have told each other: before the last backward, or after it.
  struct ShardsOfStep {
    std::vector<Step> computed;     // by this process
    std::vector<ShardFacts> facts;  // of all
    std::string diverged;           // of the first that has: why
    bool told = false;
  };
  void train_shards(const TrainingTask& task, Step& step);
  std::string compute_shards(const TrainingTask& task, Step& step, ShardsOfStep& shards);
  std::string compute_shard(const TrainingTask& task, Step& shard, const BeginBackward& begin_last_backward);
  void tell_facts(const Step& step, const std::string& why, ShardsOfStep& shards);
  std::pair<int64_t, std::string> trace_shards(const TrainingTask& task, const Step& step);

  // Ahead of a GPU.
  void ask_for_window(const TrainingTask& task, Step& step, int64_t kind);
  bool is_time_to_look(const Progress& progress) const;
  // Looks at what became of the steps that were asked for. If one had failed, it was taken again, watched: its number.
  std::optional<uint32_t> catch_up(const TrainingTask& task);

  Differences load(const TrainingTask& task, const char* name);
  Differences read(const TrainingTask& task, const std::filesystem::path& path, Links links);
  void save(const TrainingTask& task, const char* name);
  bool save_is_due(bool stepped) const;  // stepped: the last windows did make a step
  bool is_log_due() const;
  void skip(const Diverged& reason);
  void roll_back(const TrainingTask& task, const Diverged& reason);

  LogNames log_names() const { return {options_.unit, options_.perplexity}; }
  void open_log();
  void reopen_log();
  void note_rate_change(Differences& differences) const;
  void log_interval();
  void write(LogRecord record);
  void print(const EpochReport& report) const;
  Progress progress_of_epoch() const;
  void show(Progress& progress);
  void print(const std::string& line) const;
  void note(const std::string& line) { notice_ += (notice_.empty() ? "" : "\n") + line; }
  double shown(double mean) const;  // a mean loss as it is shown
  double mean_loss_so_far() const;  // in the present epoch

  Optimizer& optimizer_;
  TrainerOptions options_;
  TrainerState state_;
  // Facts of the file that the weights were read from, until they are trained further
  // (CheckpointOptions::of_weights).
  std::optional<Metadata> of_untrained_;
  std::vector<EpochReport> epochs_;
  std::optional<RunLog> log_;
  std::string missing_log_;                     // what to say about it
  std::optional<RunAhead> ahead_;               // on a GPU
  Times times_, epoch_begin_, interval_begin_;  // the latter two: as they stood then
  double epoch_began_ = 0;                      // on the clock
  double gradient_norm_ = 0;                    // of the last step
  std::vector<int64_t> chosen_;                 // TrainingTask::sample's of the present epoch
  double seconds_before_ = 0;                   // of training, by the processes before this one
  std::optional<GradientSums> sums_;            // of shards
  Ranks ranks_;
  std::string notice_;                          // to be said when the progress line is out of the way
  bool stopped_ = false;
};

}  // namespace unroll
