// The recipes of `ptb`: its keys and their documentation, and the hyperparameters of the bundled ones.
#include <regex>

#include "examples/ptb/commands/layer_costs.h"
#include "examples/ptb/model/recipe.cpp"
#include "examples/ptb/model/recipe_keys.cpp"  // the keys, for their documentation
#include "tests/examples/recipe_keys.h"
#include "tests/examples/recipe_pairs.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/program/recipe/recipe_reader.h"

using namespace unroll;

TEST_CASE("recipe: sizes and numbers that no model can have are refused before there is one") {
  // Found by fuzzing: above 0 in the recipe, 0 in the optimizer's floats.
  CHECK(error_of([] { ptb::load_recipe("demo", {{"optimizer.epsilon=1e-88"}}); }) ==
        "--set optimizer.epsilon=1e-88: 'optimizer.epsilon' must be at least 1e-30, got 1e-88");
  CHECK(error_of([] { ptb::load_recipe("demo", {{"model.layers=2000000000"}}); }) ==
        "--set model.layers=2000000000: 'model.layers' must be in [1, 100], got 2000000000");
}

TEST_CASE("recipe: docs/recipes.md has the table of ptb's keys") {
  check_documented("docs/recipes.md", ptb::declare_keys, ptb::Recipe(), false);
}

TEST_CASE("recipe: the bundled recipes of ptb, the classical ones with Zaremba's hyperparameters") {
  for (const std::string& name : bundled_recipes("ptb"))
    CHECK(error_of([&] { ptb::load_recipe(name, {}); }) == "");

  struct Row {
    const char* name;
    int width, bptt, epochs, after;
    float init, dropout;
    double clip, factor;
  };
  for (const Row& row : {Row{"ptb-small", 200, 20, 13, 4, 0.1f, 0, 5, 0.5},
                         Row{"ptb-medium", 650, 35, 39, 6, 0.05f, 0.5f, 5, 0.8},
                         Row{"ptb-large", 1500, 35, 55, 14, 0.04f, 0.65f, 10, 1 / 1.15}}) {
    CAPTURE(row.name);
    const ptb::Recipe r = ptb::load_recipe(row.name, {});
    CHECK(r.model.embedding == row.width);
    CHECK(r.model.hidden == row.width);
    CHECK(r.model.layers == 2);
    CHECK(r.model.dropout == row.dropout);
    CHECK(r.model.init == row.init);
    CHECK(r.model.forget_bias == 0);
    CHECK_FALSE(r.model.tied);
    CHECK(r.data.corpus == ptb::CorpusKind::ptb);
    CHECK(r.data.batch == 20);
    CHECK(r.data.bptt == row.bptt);
    CHECK(r.data.eval_batch == 1);
    CHECK(r.training.epochs == row.epochs);
    CHECK(r.training.clip == row.clip);
    CHECK(r.training.reduction == ptb::Reduction::sum_over_steps);
    CHECK(r.training.accumulate == 1);
    CHECK(r.optimizer.kind == ptb::OptimizerKind::sgd);
    CHECK(r.optimizer.learning_rate == 1);
    CHECK(r.optimizer.momentum == 0);
    CHECK(r.optimizer.weight_decay == 0);
    CHECK(r.schedule.kind == ptb::ScheduleKind::step);
    CHECK(r.schedule.after == row.after);
    CHECK(r.schedule.factor == row.factor);
  }
}

// Weights of a model of 10,000 words, embedding and decoder being one.
static int64_t parameters_of(const ptb::Recipe& r) {
  const auto& m = r.model;
  int64_t count = 10'000 * (int64_t{m.embedding} + 1), width = m.embedding;
  if (ptb::has_recurrent(r))
    for (int k = 0; k < m.layers; ++k) {
      const int64_t hidden = k + 1 == m.layers && m.last_hidden ? m.last_hidden : m.hidden;
      count += 4 * hidden * (width + hidden + 1), width = hidden;
    }
  if (ptb::has_transformer(r)) {
    const TransformerConfig c = ptb::transformer_of(r);
    const int64_t dim = c.dim, units = c.units();
    count += c.layers * (4 * dim * (dim + 1) + 2 * dim * units + units + dim + 4 * dim) + 2 * dim;
  }
  return count;
}

TEST_CASE("recipe: what is held against an LSTM has as many parameters and reads as many tokens") {
  CHECK(parameters_of(ptb::load_recipe("ptb-6m", {})) == 10'304'600);
  for (const auto& [name, other] : {std::pair{"ptb-6m-transformer", "ptb-6m"},
                                    {"ptb-6m-attention", "ptb-6m"},
                                    {"ptb-19m-transformer", "ptb-19m"}}) {
    CAPTURE(name);
    const ptb::Recipe r = ptb::load_recipe(name, {}), lstm = ptb::load_recipe(other, {});
    CHECK(static_cast<double>(parameters_of(r)) ==
          doctest::Approx(static_cast<double>(parameters_of(lstm))).epsilon(0.001));
    CHECK(r.training.epochs == lstm.training.epochs);
    CHECK(r.data.batch == lstm.data.batch);
    CHECK(r.data.bptt == lstm.data.bptt);
    CHECK(r.data.variable_bptt == lstm.data.variable_bptt);
    CHECK(r.model.tied);
  }
}

TEST_CASE("recipe: the tied recipes have the hyperparameters of PyTorch's word_language_model") {
  for (const auto& [name, width, dropout] :
       {std::tuple{"ptb-medium-tied", 650, 0.5f}, std::tuple{"ptb-large-tied", 1500, 0.65f}}) {
    CAPTURE(name);
    const ptb::Recipe r = ptb::load_recipe(name, {});
    CHECK(r.model.embedding == width);
    CHECK(r.model.hidden == width);
    CHECK(r.model.layers == 2);
    CHECK(r.model.dropout == dropout);
    CHECK(r.model.tied);
    CHECK(r.model.init == 0.1f);
    CHECK(r.model.init_scheme == ptb::InitScheme::pytorch);
    CHECK(r.data.batch == 20);
    CHECK(r.data.bptt == 35);
    CHECK(r.data.eval_batch == 10);
    CHECK(r.training.epochs == 40);
    CHECK(r.training.clip == 0.25);
    CHECK(r.training.reduction == ptb::Reduction::mean);
    CHECK(r.training.keep == ptb::Keep::best);
    CHECK(r.optimizer.kind == ptb::OptimizerKind::sgd);
    CHECK(r.optimizer.learning_rate == 20);
    CHECK(r.schedule.kind == ptb::ScheduleKind::plateau);
    CHECK(r.schedule.factor == 0.25);
  }
}

// The network of all three, and its dropouts for the Penn Treebank.
static void check_awd_lstm(const ptb::Recipe& r) {
  CAPTURE(r.name);
  CHECK(r.model.embedding == 400);
  CHECK(r.model.hidden == 1150);
  CHECK(r.model.last_hidden == 400);
  CHECK(r.model.layers == 3);
  CHECK(r.model.tied);
  CHECK(r.model.locked_dropout);
  const auto [input, hidden, output] = ptb::dropout_rates(r);
  CHECK(input == 0.4f);
  CHECK(hidden == 0.25f);
  CHECK(output == 0.4f);
  CHECK(r.model.embedding_dropout == 0.1f);
  CHECK(r.model.weight_drop == 0.5f);
  CHECK(r.data.bptt == 70);
  CHECK(r.data.variable_bptt);
  CHECK(r.training.reduction == ptb::Reduction::mean);
  CHECK(r.training.keep == ptb::Keep::best);
  CHECK(r.optimizer.weight_decay == 1.2e-6);
}

TEST_CASE("recipe: awd-lstm has what its authors' command says") {
  const ptb::Recipe r = ptb::load_recipe("awd-lstm", {});
  check_awd_lstm(r);
  CHECK(r.model.init == 0.1f);
  CHECK(r.model.init_scheme == ptb::InitScheme::pytorch);
  CHECK(r.data.batch == 20);
  CHECK(r.training.init_from == "");
  CHECK(r.training.epochs == 500);
  CHECK(r.training.clip == 0.25);
  CHECK(r.training.activation_regularization == 2);
  CHECK(r.training.temporal_activation_regularization == 1);
  CHECK(r.training.seed == 141);
  CHECK(r.optimizer.kind == ptb::OptimizerKind::asgd);
  CHECK(r.optimizer.learning_rate == 30);
  CHECK(r.optimizer.average_from == 0);
  CHECK(r.optimizer.non_monotone == 5);
  CHECK(r.schedule.kind == ptb::ScheduleKind::constant);
}

TEST_CASE(
    "recipe: the second stage of awd-lstm is the first, from its best weights, averaged from the first epoch") {
  const auto keys =
      ptb::differing_keys(ptb::load_recipe("awd-lstm", {}), ptb::load_recipe("awd-lstm-finetune", {}));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"training.init_from", "\"runs/awd-lstm-1/best.safetensors\""},
      {"training.patience", "5"},
      {"optimizer.average_from", "1"}};
  REQUIRE(keys.size() == expected.size() + 1);
  CHECK(keys[0].path == "model.init_scheme");  // of weights that are not drawn
  for (size_t k = 0; k < expected.size(); ++k) {
    CHECK(keys[k + 1].path == expected[k].first);
    CHECK(keys[k + 1].after == expected[k].second);
  }
}

// 133 windows an epoch: 11,970 steps, 11,969 from the first to the last, 997.4… of them to the top.
TEST_CASE("recipe: awd-lstm in one cycle has the published phases, over rate and beta1") {
  const ptb::Recipe r = ptb::load_recipe("awd-lstm-onecycle", {});
  check_awd_lstm(r);
  CHECK(r.data.batch == 100);
  CHECK(r.training.clip == 0.12);
  CHECK(r.training.activation_regularization == 3);
  CHECK(r.training.temporal_activation_regularization == 1.5f);
  CHECK(r.training.precision == "auto");
  CHECK(r.optimizer.kind == ptb::OptimizerKind::adamw);
  CHECK(r.optimizer.beta2 == 0.99);
  const Schedule schedule = make_schedule(r.sections(), 133);
  const auto at = [&](int64_t step, double rate, double beta1) {
    CAPTURE(step);
    CHECK(schedule.rate(0, step) == doctest::Approx(rate).epsilon(1e-3));
    CHECK(*schedule.momentum_at(step) == doctest::Approx(beta1).epsilon(1e-3));
  };
  at(0, 5e-4, 0.8);
  at(499, (5e-4 + 5e-3) / 2, 0.75);
  at(997, 5e-3, 0.7);
  at(5985, 5e-4, 0.8);
  at(10972, 5e-5, 0.8);
  at(11969, 5e-6, 0.8);
  // Half as many epochs have the same phases.
  const ptb::Recipe half = ptb::load_recipe("awd-lstm-onecycle", {{"training.epochs=45"}});
  CHECK(make_schedule(half.sections(), 133).rate(0, 499) == doctest::Approx(5e-3).epsilon(1e-3));
}

TEST_CASE("recipe: the rates of dropout are one, but for those that have their own") {
  const auto rates = [](const std::vector<ptb::Override>& overrides) {
    const auto [input, hidden, output] = ptb::dropout_rates(ptb::load_recipe("ptb-medium", overrides));
    return std::vector{input, hidden, output};
  };
  CHECK(rates({}) == std::vector{0.5f, 0.5f, 0.5f});
  CHECK(rates({{"model.hidden_dropout=0.25"}}) == std::vector{0.5f, 0.25f, 0.5f});
  CHECK(rates({{"model.input_dropout=0"}, {"model.output_dropout=0.1"}}) == std::vector{0.f, 0.5f, 0.1f});
}

TEST_CASE("options that the layers of --set lack are off; those of a file's own layers, or of --set, are refused") {
  const auto error = [](const std::string& model, const std::vector<Override>& overrides) {
    return error_of([&] { ptb::load_recipe(RecipeFile{"mine", "mine.toml", "[model]\n" + model}, overrides); });
  };
  const ptb::Recipe gru = ptb::load_recipe("demo", {{"model.cell=gru"}});
  CHECK(gru.model.forget_bias == 0);
  CHECK(ptb::load_recipe("demo", {{"model.cell=lstm"}}).model.forget_bias == 1);
  // The run leaves a recipe that is read again, and that says what is so.
  const std::string left = ptb::resolved(gru);
  CHECK(error_of([&] { ptb::load_recipe(RecipeFile{"run", "run", left}); }) == "");
  CHECK(left.find("forget_bias = 0") != left.npos);
  CHECK(error("cell = \"gru\"\nforget_bias = 1.0\n", {}) ==
        "mine.toml:3: 'model.forget_bias' is an option of the LSTM; the GRU has no such thing");
  CHECK(error("cell = \"gru\"\nforget_bias = 1.0\n", {{"model.hidden=9"}}) != "");
  CHECK(error("forget_bias = 1.0\n", {{"model.cell=gru"}, {"model.forget_bias=2"}}) ==
        "--set model.forget_bias=2: 'model.forget_bias' is an option of the LSTM; the GRU has no such thing");

  const std::string deep = "layers = 2\nresidual = true\n";
  CHECK(error(deep, {{"model.layers=1"}}) == "");
  CHECK(lacks(error("layers = 1\nresidual = true\n", {}), {"mine.toml:3: 'model.residual' needs model.layers"}) == "");
  CHECK(error("cell = \"rnn\"\nnonlinearity = \"relu\"\n", {{"model.cell=lstm"}}) == "");
  CHECK(error("mogrifier = 2\nmogrifier_rank = 3\n", {{"model.mogrifier=0"}}) == "");
  CHECK(error("dropout = 0.5\nlocked_dropout = true\n", {{"model.dropout=0"}}) == "");
  CHECK(lacks(error("tied = true\nembedding = 9\nhidden = 9\n", {{"model.hidden=8"}}), {"'model.tied' needs"}) == "");
}

TEST_CASE("every key says what another value means to a run that is resumed") {
  const auto are = [](OnResume meaning) { return keys_that_are(meaning, ptb::declare_keys, ptb::Recipe()); };
  CHECK(are(OnResume::undecided) == "");
  CHECK(are(OnResume::harmless) ==
        "model.engine training.epochs training.keep training.patience training.on_divergence "
        "training.save_every_steps training.save_every_minutes training.keep_every_epochs training.log_every "
        "training.graph training.sample_every_epochs training.sample_words training.surprising_words");
  CHECK(are(OnResume::rescores) == "data.eval_batch training.precision");
  CHECK(are(OnResume::fixed) ==
        "model.architecture model.embedding model.hidden model.layers model.heads model.feed_forward "
        "model.memory model.attention_layers model.cell model.zoneout_h model.zoneout_c model.projection "
        "model.layer_norm model.peepholes model.gate_activation model.cell_activation model.cell_clip "
        "model.coupled_gates model.nonlinearity model.mogrifier model.mogrifier_rank model.residual "
        "model.last_hidden model.forget_bias model.tied model.softmax model.components model.init "
        "model.init_scheme data.level data.reset data.batch data.seed training.init_from "
        "training.past_decode optimizer.kind optimizer.average_from");
  // The page names these, and nothing else; of [model] all but dropouts and how it is computed.
  const std::string page = read_text(project_root() / "docs/ptb.md"), begin = "These keys cannot change",
                    end = "**Another validation text.**";
  REQUIRE(page.find(begin) != page.npos);
  std::string told = page.substr(page.find(begin));
  told = told.substr(0, told.find(end));
  Words named, fixed;
  const std::regex of_a_section("`([a-z_]+\\.[a-z_]+)`");
  for (std::sregex_iterator at(told.begin(), told.end(), of_a_section), none; at != none; ++at)
    named.push_back((*at)[1]);
  RecipeReader reader;
  ptb::Recipe recipe;
  ptb::declare_keys(reader, recipe);
  for (const RecipeKey& key : reader.keys()) {
    const bool is_fixed = key.on_resume == OnResume::fixed;
    if (key.section != "model") {
      if (is_fixed) fixed.push_back(key.path());
      continue;
    }
    const bool excepted = key.name.find("drop") != key.name.npos || key.name == "engine" || key.name == "algorithm";
    CHECK_MESSAGE(is_fixed == !excepted, key.path());
  }
  std::ranges::sort(named);
  std::ranges::sort(fixed);
  CHECK(named == fixed);
}

TEST_CASE("the seed decides where windows begin if it draws their lengths") {
  const ptb::Recipe before = ptb::load_recipe("demo", {});
  for (const bool drawn : {false, true}) {
    const std::string variable = fmt::format("data.variable_bptt={}", drawn);
    const ptb::Recipe after = ptb::load_recipe("demo", {{"training.seed=77"}, {variable}});
    const auto keys = ptb::differing_keys(before, after);
    const auto seed = std::ranges::find(keys, "training.seed", &DifferingKey::path);
    REQUIRE(seed != keys.end());
    CHECK(seed->on_resume == OnResume::may_change);
    CHECK(seed->cuts_windows == drawn);
  }
}

TEST_CASE("each word of training.on_divergence is the course of its name") {
  const auto read = [](const char* word) {
    return ptb::load_recipe("demo", {{fmt::format("training.on_divergence={}", word)}})
        .training.on_divergence;
  };
  CHECK(read("stop") == OnDivergence::stop);
  CHECK(read("skip") == OnDivergence::skip);
  CHECK(read("rollback") == OnDivergence::rollback);
}

TEST_CASE("an epoch's last optimizer step may be of fewer windows than the others") {
  TrainingSection training;
  training.accumulate = 4;
  const OptimizerSection optimizer;
  const ScheduleSection schedule;
  const TrainingSections sections{training, optimizer, schedule};
  CHECK(steps_of_epoch(sections, 8, 1) == 2);
  CHECK(steps_of_epoch(sections, 10, 1) == 3);
  CHECK(steps_of_epochs(sections, 10, 5) == 15);
}

TEST_CASE("an optimizer keeps as many numbers of each weight as is said of it") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                                   OptimizerKind::asgd, OptimizerKind::rmsprop, OptimizerKind::lion})
    for (const double momentum : {0.0, 0.9})
      for (const double average_decay : {0.0, 0.5}) {
        const TrainingSection training;
        const ScheduleSection schedule;
        OptimizerSection section{.kind = kind, .learning_rate = 0.1, .momentum = momentum};
        section.average_decay = average_decay, section.average_from = 1;
        ParameterSet params;
        const Var weight = params.add("weight", {3}, Init::constant(1)).var();
        const auto optimizer = make_optimizer({training, section, schedule}, params, 1);
        Tape tape;
        tape.backward(sum(weight));
        optimizer->step();
        CAPTURE(optimizer->name());
        CAPTURE(momentum);
        CAPTURE(average_decay);
        CHECK(std::ssize(optimizer->whole_state().slabs) == moments_of({training, section, schedule}));
      }
}

TEST_CASE("which values of two keys do not go together, and which need another") {
  RecipeReader reader;
  ptb::Recipe recipe;
  ptb::declare_keys(reader, recipe);
  recipe_pairs::check_recorded(
      "pairs-of-ptb.txt",
      recipe_pairs::interplay({reader.keys().begin(), reader.keys().end()}, [](const Words& assignments) {
        std::vector<Override> overrides;
        for (const std::string& assignment : assignments) overrides.push_back({assignment});
        return error_of([&] { ptb::load_recipe(RecipeFile{"mine", "mine.toml", ""}, overrides); });
      }));
}

TEST_CASE("explain measures options twice and for two seconds, but slow layers once") {
  CHECK(ptb::goes_on(0, 0));
  CHECK(ptb::goes_on(1, 3));
  CHECK(ptb::goes_on(5, 1.9));
  CHECK_FALSE(ptb::goes_on(2, 2.1));
  CHECK_FALSE(ptb::goes_on(1, 30));
}
