// Language models of the program ptb.
#include "examples/ptb/export/c_model.h"
#include "examples/ptb/export/onnx_model.h"
#include "tests/export/cases.h"

namespace unroll {

namespace {

constexpr int vocab = 23;

void write_language(const std::filesystem::path& folder, const std::string& name, const ptb::Recipe& recipe) {
  std::vector<std::string> words{"<eos>"};
  for (int k = 1; k < vocab; ++k) words.push_back(fmt::format("w{}", k));
  ptb::SavedModel saved{recipe, Vocabulary(words), std::make_unique<ptb::LanguageModel>(recipe, vocab)};
  saved.model->params.initialize(Init::uniform(-0.3f, 0.3f));
  Case one(folder, name);
  ptb::write_onnx(one.onnx(), saved);
  RandomStream random(5, name);
  const ptb::LanguageModel& model = *saved.model;
  StepsInC in_c(folder, name, ptb::step_plan(model));
  ptb::write_c(in_c.header(false), saved), ptb::write_c_in_8_bits(in_c.header(true), saved);
  for (const int batch : {2, 1}) {
    ptb::ModelState state = model.zero_state(batch);
    RealTimeStep step(ptb::step_plan(model));
    for (const int steps : steps_of_calls) {
      one.begin_call();
      IdTensor ids({steps, batch});
      Tensor as_numbers({steps, batch});
      for (int64_t k = 0; k < ids.size(); ++k)
        as_numbers.data()[k] = static_cast<real>(ids.data()[k] = static_cast<int32_t>(random.bits() % vocab));
      one.input("ids", as_numbers);
      const std::string cell = ptb::cell_of(recipe).name;
      const bool first = one.call % std::ssize(steps_of_calls) == 0;
      const auto with_states = [&](auto give) {
        if (model.recurrent) give(cell + ".h", state.recurrent.h);
        if (model.recurrent && state.recurrent.c.defined()) give(cell + ".c", state.recurrent.c);
        if (model.transformer)
          give("transformer.h", state.transformer.h), give("transformer.c", state.transformer.c);
      };
      if (first) with_states([&](const std::string& of, const Tensor& values) { one.input(of, values); });
      const ptb::LanguageModel::Read read = model.read(ids, state);
      state = read.state;
      const char* const scores = model.mixture ? "log_p" : "logits";
      const Tensor expected = model.logits(read.y).value();
      one.output(scores, expected);
      for (int t = 0; t < steps && batch == 1; ++t) {
        step(ids.data()[t]);
        require_step(name, step[scores], expected[t].to_host());
        in_c.add(step, ids.data()[t]);
      }
      with_states([&](const std::string& of, const Tensor& values) { one.output(of + "_next", values); });
    }
  }
  one.write(), in_c.write();
}

}  // namespace

void write_language_cases(const std::filesystem::path& folder) {
  const NoTape guard;
  ptb::Recipe small;
  small.model.embedding = small.model.hidden = 12, small.model.heads = 3, small.model.memory = 6;
  small.model.dropout = 0.3f, small.model.embedding_dropout = 0.2f;
  const auto write = [&](const std::string& name, auto change) {
    ptb::Recipe recipe = small;
    change(recipe.model);
    write_language(folder, "ptb_" + name, recipe);
  };
  write("lstm", [](auto&) {});
  write("tied", [](auto& m) { m.tied = true; });
  write("gru", [](auto& m) { m.cell = CellKind::gru; });
  write("rnn", [](auto& m) { m.cell = CellKind::rnn, m.tied = true; });
  write("mixture", [](auto& m) {
    m.softmax = ptb::SoftmaxKind::mixture, m.components = 4, m.tied = true, m.hidden = 15;
  });
  write("transformer", [](auto& m) { m.architecture = ptb::Architecture::transformer, m.tied = true; });
  write("attention", [](auto& m) { m.architecture = ptb::Architecture::recurrent_attention; });
}

}  // namespace unroll
