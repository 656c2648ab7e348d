// Checkpoints of a training: what comes back, what is refused, what a full disk or a lost folder leaves
// behind.
#include "training/checkpoint.h"

#include <filesystem>

#include <sys/resource.h>

#include "framework/signals.h"
#include "tests/program.h"
#include "tests/run_outcome.h"
#include "tests/support.h"
#include "tests/tiny_training.h"
#include "training/files/state_dict.h"

using namespace unroll;
using Setup = TinyTraining::Setup;

namespace {

void train(const Folder& folder, const Setup& setup = {}, int epochs = 2) {
  TinyTraining tiny(setup);
  Trainer(*tiny.optimizer, options(folder, epochs)).run(tiny.task());
}

// The message of what resuming throws.
std::string resume_error(const Folder& folder, const Setup& setup = {}, int windows = 25) {
  TinyTraining tiny(setup);
  TrainingTask task = tiny.task();
  task.windows = windows;
  Trainer trainer(*tiny.optimizer, options(folder));
  CHECK_THROWS_AS(trainer.resume(task), InputError);
  return error_of([&] { trainer.resume(task); });
}

const int one_thread = (set_threads(1), 1);

}  // namespace

TEST_CASE("a checkpoint gives everything back in its bits, and its weights have PyTorch's names") {
  for (const auto rule :
       {Setup::Rule::adam, Setup::Rule::asgd, Setup::Rule::momentum, Setup::Rule::averaged}) {
    const Folder folder;
    TinyTraining tiny({.rule = rule}), other({.rule = rule});
    if (rule == Setup::Rule::asgd) dynamic_cast<Asgd&>(*tiny.optimizer).start_averaging();
    Trainer trainer(*tiny.optimizer, options(folder));
    TrainingTask task = tiny.task();
    task.validate = [&] { return 1.0 / 3; };
    trainer.run(task);
    Tensor(tiny.params.values()).data()[3] = -0.0f;  // of two zeros the one that a sum would lose
    if (rule == Setup::Rule::adam) {
      const auto counter = tiny.optimizer->state().counters.back();
      REQUIRE(counter.name.starts_with("missed."));
      *counter.value = 7;
    }
    write_checkpoint(folder / "again.safetensors", *tiny.optimizer, trainer.state(), task.carried);

    TrainerState state;
    CHECK(
        read_checkpoint(folder / "again.safetensors", *other.optimizer, state, other.task().carried).empty());
    CHECK(same_bits(tiny.params.values(), other.params.values()));
    CHECK(same_bits(tiny.state.h, other.state.h));
    CHECK(same_bits(tiny.state.c, other.state.c));
    CHECK(other.params.step() == 50);
    CHECK(state.epoch == 2);
    CHECK(*state.best == 1.0 / 3);
    CHECK(other.optimizer->learning_rate() == tiny.optimizer->learning_rate());
    const OptimizerState was = tiny.optimizer->whole_state(), is = other.optimizer->whole_state();
    REQUIRE(was.slabs.size() == is.slabs.size());
    CHECK(was.slabs.size() == (rule == Setup::Rule::adam || rule == Setup::Rule::averaged ? 2 : 1));
    for (size_t i = 0; i < was.slabs.size(); ++i) CHECK(same_bits(was.slabs[i].values, is.slabs[i].values));
    for (size_t i = 0; i < was.counters.size(); ++i) CHECK(*was.counters[i].value == *is.counters[i].value);

    const Schedule plateau{.kind = Schedule::Kind::plateau, .factor = 2};
    TrainerState learned = trainer.state(), read;
    learned.schedule = read.schedule = plateau;
    learned.schedule->best = 0.5, learned.schedule->divisions = 3;
    write_checkpoint(folder / "plateau.safetensors", *tiny.optimizer, learned, task.carried);
    read_checkpoint(folder / "plateau.safetensors", *other.optimizer, read, other.task().carried);
    CHECK(read.schedule->best == 0.5);
    CHECK(read.schedule->divisions == 3);

    // Readers of the file who want its weights get those that were validated.
    const SafetensorsFile file(folder / "again.safetensors");
    const AveragedWeights averaged(*tiny.optimizer);
    CHECK(same_bits(file.load("decoder.weight"), tiny.params.find("decoder.weight")->leaf_value()));
    CHECK(same_bits(file.load("lstm.bias_ih_l1"), tiny.params.find("lstm.bias_l1")->leaf_value()));
    CHECK(file.find("lstm.bias_hh_l1") != nullptr);
  }
}

TEST_CASE("what a part of a state_dict does not fill stays as it is, biases too") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  const Gru gru(params / "gru", {.input = 3, .hidden = 4});
  const Dense out(params / "out", {.in = 4, .out = 2});
  const Tensor before = params.values().clone();
  { const Tensor of_other_numbers = Tensor::full({16}, 100); }  // what the pool hands out next holds them
  load_state_dict(
      [](const std::string& name, const Tensor& into) {
        if (name == "out.weight") into.fill(7);
        if (name == "lstm.bias_hh_l0") into.fill(1);
      },
      params);
  const auto was = [&](const char* name) {
    const Parameter& p = params.at(name);
    return before.slice(static_cast<int>(p.offset), static_cast<int>(p.offset + p.size())).to_host();
  };
  for (const char* name : {"lstm.weight_ih_l0", "gru.bias_l0", "gru.bias_hn_l0", "out.bias"})
    CHECK(params.at(name).leaf_value().to_host() == was(name));
  for (const real x : params.at("out.weight").leaf_value().to_host()) CHECK(x == 7);
  const auto bias = params.at("lstm.bias_l0").leaf_value().to_host(), old = was("lstm.bias_l0");
  for (size_t i = 0; i < bias.size(); ++i) CHECK(bias[i] == old[i] + 1);
}

TEST_CASE("every parameter is in a state_dict, also a bias_hn that is no end of another") {
  ParameterSet params;
  params.add("cell.bias_hn_l0", {3}, Init::constant(1));
  params.add("gru.bias_l0", {6}, Init::constant(2));
  params.add("gru.bias_hn_l0", {2}, Init::constant(3));
  const Folder folder;
  std::vector<NamedTensor> tensors = state_dict(params);
  for (const char* name : {"gru.bias_ih_l1", "training/mine"}) tensors.push_back({name, Tensor::zeros({1})});
  write_safetensors(folder / "w.safetensors", tensors);
  params.initialize(Init::constant(0));
  CHECK(load_state_dict(SafetensorsFile(folder / "w.safetensors"), params) == Words{"gru.bias_ih_l1"});
  const auto all = [&](const char* name) { return params.find(name)->leaf_value().to_host(); };
  CHECK(all("cell.bias_hn_l0") == std::vector<real>(3, 1));
  CHECK(all("gru.bias_l0") == std::vector<real>(6, 2));
  CHECK(all("gru.bias_hn_l0") == std::vector<real>(2, 3));

  ParameterSet twice;
  twice.add("cell.bias_l0", {3}, {});
  twice.add("cell.bias_hh_l0", {3}, {});
  CHECK(lacks(error_of([&] { state_dict(twice); }), {"state_dict", "cell.bias_hh_l0"}) == "");
}

TEST_CASE("a run of two halves has the files of one that was whole") {
  const Folder whole, halves;
  train(whole, {}, 4);
  train(halves, {}, 2);
  TinyTraining tiny({});
  Trainer trainer(*tiny.optimizer, options(halves, 4));
  const auto differences = trainer.resume(tiny.task());
  REQUIRE(differences.has_value());
  CHECK(differences->empty());
  trainer.run(tiny.task());
  CHECK(read_text(whole / "last.safetensors") == read_text(halves / "last.safetensors"));
  CHECK(timeless_log(whole.path()) == timeless_log(halves.path()));
  CHECK(timeless_log(whole.path()).size() == 4 + 100 / 7);

  Trainer again(*tiny.optimizer, options(halves, 4));  // there is nothing to do
  again.resume(tiny.task());
  CHECK(again.finished());
  again.run(tiny.task());
  CHECK(read_text(whole / "last.safetensors") == read_text(halves / "last.safetensors"));
}

TEST_CASE("every second epoch leaves a checkpoint that stays: the last one of a run that ended there") {
  const Folder kept, ended;
  TinyTraining tiny({});
  TrainerOptions keeps = options(kept, 5);
  keeps.checkpoints.keep_every_epochs = 2;
  Trainer(*tiny.optimizer, keeps).run(tiny.task());
  train(ended, {}, 2);
  CHECK(read_text(kept / "epoch-2.safetensors") == read_text(ended / "last.safetensors"));
  CHECK(std::filesystem::exists(kept / "epoch-4.safetensors"));
  for (const char* none : {"epoch-1.safetensors", "epoch-3.safetensors", "epoch-5.safetensors"})
    CHECK_FALSE(std::filesystem::exists(kept / none));
  keeps.checkpoints.keep_every_epochs = -1;
  CHECK(lacks(error_of([&] { Trainer(*tiny.optimizer, keeps); }), {"trainer", "-1 epochs"}) == "");
}

TEST_CASE("a run in two halves begins to average at the epoch that one that was whole does") {
  // Scores 1, 2, 3, 4 and a patience of 2: the fourth is the first that is above one from before the last two.
  const auto averages = [](std::initializer_list<int> halves) {
    const Folder folder;
    TinyTraining tiny({.rule = Setup::Rule::asgd});
    std::vector<double> scores;
    for (const int epochs : halves) {
      TinyTraining fresh({.rule = Setup::Rule::asgd});
      TrainerOptions of_half = options(folder, epochs);
      of_half.non_monotone = 2;
      Trainer trainer(*fresh.optimizer, of_half);
      TrainingTask task = fresh.task();
      task.validate = [&] { return 1.0 + trainer.state().epoch; };
      trainer.resume(task);
      trainer.run(task);
      scores = trainer.state().trigger.history;
    }
    CHECK(scores == std::vector<double>{1, 2, 3, 4});
    return read_text(folder / "last.safetensors");
  };
  CHECK(averages({2, 5}) == averages({5}));
}

TEST_CASE("an optimizer that keeps no average goes on from the weights, which lie beside the averages") {
  const Folder folder;
  TinyTraining averaged({.rule = Setup::Rule::averaged}), plain({});
  Trainer(*averaged.optimizer, options(folder)).run(averaged.task());
  plain.optimizer = std::make_unique<Lion>(plain.params, LionConfig{.learning_rate = 0.01});
  TrainerState state;
  read_checkpoint(folder / last_checkpoint, *plain.optimizer, state, plain.task().carried);
  CHECK(same_bits(plain.params.values(), averaged.params.values()));
  CHECK_FALSE(same_bits(plain.params.values(), *averaged.optimizer->averages()));
}

TEST_CASE("what cannot be gone on with is refused, with both shapes where they differ") {
  const Folder folder;
  train(folder);
  const std::string good = read_text(folder / "last.safetensors");
  const std::string path = (folder / "last.safetensors").string();
  CHECK(lacks(resume_error(folder, {.hidden = 8}), {path, "[24, 5]", "[32, 5]"}) == "");
  CHECK(lacks(resume_error(folder, {.layers = 3}), {path, "lstm.weight_ih_l2", "[24, 6]"}) == "");
  CHECK(lacks(resume_error(folder, {.layers = 1}),
              {path, "lstm.weight_ih_l1", "[24, 6]", "not in the model"}) == "");
  CHECK(lacks(resume_error(folder, {.rule = Setup::Rule::momentum}), {path, "adamw", "sgd"}) == "");

  const auto rewritten = [&](const std::string& key, const std::string& value) {
    folder.write("last.safetensors", good);
    std::vector<NamedTensor> tensors;
    Metadata metadata;
    {
      const SafetensorsFile file(path);
      for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
      metadata = file.metadata();
    }
    metadata[key] = value;
    if (value.empty()) metadata.erase(key);
    write_safetensors(path, tensors, metadata);
    const std::string before = read_text(path), error = resume_error(folder);
    CHECK(read_text(path) == before);
    return error;
  };
  CHECK(lacks(rewritten("checkpoint_version", "2"), {path, "version 2", "version 1"}) == "");
  CHECK(lacks(rewritten("training", ""), {path, "weights alone"}) == "");
  CHECK(lacks(rewritten("training", "{"), {path, "damaged"}) == "");
  CHECK(lacks(rewritten("training", "{\"optimizer\": 3}"), {path, "damaged", "optimizer"}) == "");
  const std::string training = [&] {
    folder.write("last.safetensors", good);
    return SafetensorsFile(path).metadata().at("training");
  }();
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"epoch\":2", "\"epoch\":-2"},
                                                        {"\"window\":0", "\"window\":0.5"},
                                                        {"\"step\":50", "\"step\":\"x\""},
                                                        {"\"step\":50", "\"step\":4294967296"},
                                                        {"\"steps\":50", "\"stops\":50"},
                                                        {"\"total\":0.0", "\"total\":[]"}}) {
    std::string changed = training;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    CHECK(lacks(rewritten("training", changed), {path, "damaged"}) == "");
  }
  for (const size_t bytes : {size_t{0}, size_t{100}, good.size() / 2, good.size() - 1}) {
    folder.write("last.safetensors", good.substr(0, bytes));
    CHECK(lacks(resume_error(folder), {path}) == "");
  }
}

TEST_CASE("in the middle of an epoch neither its windows nor what is carried may change") {
  const Folder folder;
  TinyTraining tiny({});
  TrainerOptions every_step = options(folder);
  every_step.checkpoints.every_steps = 1;
  TrainingTask task = tiny.task();
  task.loss = [&, loss = task.loss](int64_t window) {
    require(window < 5, "enough");
    return loss(window);
  };
  CHECK(error_of([&] { Trainer(*tiny.optimizer, every_step).run(task); }) == "enough");
  CHECK(lacks(resume_error(folder, {}, 30), {"window 5 of 25", "30 windows"}) == "");
  TinyTraining wider({});
  TrainingTask other = wider.task();
  other.carried[0].tensor = Tensor::zeros({2, 4, 6});
  Trainer trainer(*wider.optimizer, options(folder));
  CHECK(lacks(error_of([&] { trainer.resume(other); }), {"carried/h", "[2, 3, 6]", "[2, 4, 6]"}) == "");
}

TEST_CASE("what a run was made with is told where it differs") {
  const Folder folder;
  train(folder);
  TinyTraining tiny({});
  set_threads(2);  // on which bits do not depend
  CHECK(Trainer(*tiny.optimizer, options(folder)).resume(tiny.task())->empty());
  set_threads(one_thread);
  TinyTraining other({}, 12);
  const auto differences = Trainer(*other.optimizer, options(folder)).resume(other.task());
  REQUIRE(differences->size() == 1);
  CHECK(differences->front() == "seed 11 then, 12 now");
}

TEST_CASE("a name that no checkpoint can have is known before anything is trained") {
  const Folder folder;
  TinyTraining tiny({});
  const auto error = [&](const TrainerOptions& with, const std::vector<NamedTensor>& carried) {
    TrainingTask task = tiny.task();
    task.carried = carried;
    task.loss = [](int64_t) -> WindowLoss { throw Error("it was trained"); };
    return error_of([&] { Trainer(*tiny.optimizer, with).run(task); });
  };
  const Tensor one({1});
  const std::vector<NamedTensor> good = {{"h", one}};
  CHECK(error(options(folder), good) == "it was trained");
  CHECK(lacks(error(options(folder), {{"h", one}, {"h", one}}), {"'training/carried/h' is taken"}) == "");
  CHECK(lacks(error(options(folder), {{"a\nb", one}}), {"'training/carried/a?b' is no name", "one line"}) ==
        "");
  CHECK(lacks(error(options(folder), {{std::string(1000, 'x'), one}}), {"at most 1000"}) == "");
  TrainerOptions with = options(folder);
  with.checkpoints.also = {{"decoder.weight", one}};
  CHECK(lacks(error(with, good), {"'decoder.weight' is taken"}) == "");
  with = options(folder);
  with.checkpoints.metadata = {{"a", "\xff"}};
  CHECK(lacks(error(with, good), {"UTF-8"}) == "");
  with.checkpoints.metadata = {{"training", "mine"}};
  CHECK(lacks(error(with, good), {"metadata 'training'"}) == "");
}

TEST_CASE("what is in a checkpoint and has no place here is told, and what is missing is named") {
  const Folder folder;
  train(folder, {.rule = Setup::Rule::momentum});
  TinyTraining tiny({});
  Sgd plain(tiny.params, {.learning_rate = 0.3});
  TrainerState state;
  const std::vector<NamedTensor> h = {{"h", tiny.state.h}};
  CHECK(read_checkpoint(folder / "last.safetensors", plain, state, h) ==
        Differences{"carried/c then, and not now", "momentum_buffer then, and not now"});
  write_checkpoint(folder / "plain.safetensors", plain, state, {});
  TinyTraining with({.rule = Setup::Rule::momentum});
  CHECK(lacks(error_of([&] { read_checkpoint(folder / "plain.safetensors", *with.optimizer, state, {}); }),
              {"plain.safetensors: its optimizer kept no momentum_buffer; sgd"}) == "");
}

TEST_CASE("what is not finite does not reach a checkpoint") {
  const Folder folder;
  train(folder);
  const std::string saved = read_text(folder / "last.safetensors");
  for (const char* name : {"weights", "moments"}) {
    TinyTraining tiny({});
    TrainerState state;
    read_checkpoint(folder / "last.safetensors", *tiny.optimizer, state, {});
    const bool weights = std::string(name) == "weights";
    Tensor slab = weights ? tiny.params.values() : tiny.optimizer->state().slabs[1].values;
    slab.data()[2] = std::numeric_limits<real>::infinity();
    const std::string error =
        error_of([&] { write_checkpoint(folder / "last.safetensors", *tiny.optimizer, state, {}); });
    CHECK(lacks(error, {weights ? "'embedding.weight'" : "'training/exp_avg_sq/embedding.weight'",
                        "not finite"}) == "");
    CHECK(read_text(folder / "last.safetensors") == saved);
  }
}
