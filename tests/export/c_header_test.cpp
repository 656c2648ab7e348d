// C headers as their users have them: compiled as C99 and as C++ by two compilers with all warnings, run, and compared with the
// layers' values.
#include "export/c_header.h"

#include <limits>

#include "tests/export/step_models.h"
#include "tests/program.h"
#include "training/files/state_dict.h"

using namespace unroll;

namespace {

constexpr int steps = 200;
constexpr const char* warnings = "-O2 -Wall -Wextra -Wconversion -Werror -pedantic";

// A program that steps through all models: it reads their inputs from one file, and writes their outputs to another. Between
// the two lines that it prints, it only steps.
std::string program_of(const std::vector<StepModel>& models) {
  std::string text = "#include <stdio.h>\n#include <string.h>\n", calls;
  for (size_t k = 0; k < models.size(); ++k) {
    const StepModel& m = models[k];
    const bool state = m.plan.numbers(StepArray::Kind::state) > 0;
    text += fmt::format("#include \"m{0}.h\"\nstatic float in{0}[{1}], out{0}[{2}];\n", k,
                        steps * std::max(1, m.inputs), steps * m.outputs());
    calls +=
        fmt::format("  for (int t = 0; t < {1}; ++t) m{0}_step({2}{3}, out{0} + t * {4});\n", k, steps,
                    state ? fmt::format("&state{}, ", k) : "",
                    m.vocab > 0 ? fmt::format("(int)in{}[t]", k) : fmt::format("in{} + t * {}", k, m.inputs),
                    m.outputs());
    if (!state) continue;
    text += fmt::format("static m{0}_state state{0};\n", k);
    calls.insert(  // a state that holds anything begins anew
        0, fmt::format("  memset(&state{0}, 255, sizeof state{0});\n  m{0}_reset(&state{0});\n", k));
  }
  text +=
      "int main(int count, char** words) {\n  if (count < 3) return 1;\n  FILE* file = fopen(words[1], \"rb\");\n"
      "  if (!file) return 1;\n";
  for (size_t k = 0; k < models.size(); ++k)
    text += fmt::format("  if (fread(in{0}, sizeof in{0}, 1, file) != 1) return 1;\n", k);
  text += "  fclose(file);\n  puts(\"begin\"), fflush(stdout);\n" + calls +
          "  puts(\"end\"), fflush(stdout);\n  file = fopen(words[2], \"wb\");\n  if (!file) return 1;\n";
  for (size_t k = 0; k < models.size(); ++k)
    text += fmt::format("  fwrite(out{0}, sizeof out{0}, 1, file);\n", k);
  return text + "  return fclose(file) != 0;\n}\n";
}

struct Files {
  Folder folder;
  std::vector<StepModel> models;
  std::vector<StepInputs> inputs;

  explicit Files(std::vector<StepModel> of, int bits = 32) : models(std::move(of)) {
    std::string bytes;
    for (size_t k = 0; k < models.size(); ++k) {
      write_c_header(folder / fmt::format("m{}.h", k), models[k].plan,
                     {.name = fmt::format("m{}", k), .bits = bits});
      inputs.push_back(step_inputs(models[k], steps));
      const auto add = [&](float v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); };
      if (models[k].vocab > 0)
        for (const int32_t token : inputs[k].tokens.span()) add(static_cast<float>(token));
      else
        for (const real v : inputs[k].x.span()) add(v);
    }
    folder.write("in", bytes);
    folder.write("program.c", program_of(models));
    folder.write("program.cpp", program_of(models));
  }
  void shell(const std::string& command) const {
    const ProgramRun run = run_program("/bin/sh", {"-c", command}, folder.path());
    CHECK_MESSAGE(run.code == 0, command, ": ", run.out, run.err);
  }
  // By model [steps, 1, outputs].
  std::vector<Tensor> outputs() const {
    const std::string bytes = read_text(folder / "out");
    std::vector<Tensor> result;
    const char* next = bytes.data();
    for (const StepModel& model : models) {
      Tensor y({steps, 1, model.outputs()});
      const auto size = static_cast<size_t>(y.size()) * sizeof(float);
      REQUIRE(next + size <= bytes.data() + bytes.size());
      std::memcpy(y.span().data(), next, size);
      next += size;
      result.push_back(y);
    }
    return result;
  }
  void check_outputs(double tolerances = 1) const {
    const std::vector<Tensor> found = outputs();
    for (size_t k = 0; k < models.size(); ++k) {
      CAPTURE(models[k].name);
      const Tensor expected = models[k].whole(inputs[k].x, inputs[k].tokens);
      CHECK(distance(found[k], expected) <= tolerances * tolerance(expected));
    }
  }
};

bool is_there(const std::string& program) {
  const Folder folder;
  const bool found = run_program("/bin/sh", {"-c", "command -v " + program}, folder.path()).code == 0;
  if (!found) MESSAGE(program, " is not there: left out");
  return found;
}

// Between the lines "begin" and "end" a program calls nothing of the system.
void check_calls(const Folder& folder, const std::string& command) {
  if (!is_there("strace")) return;
  const ProgramRun run = run_program("/bin/sh", {"-c", "strace -o trace " + command}, folder.path());
  if (run.code != 0) {
    MESSAGE("strace may not trace here: left out: ", run.err);
    return;
  }
  const std::vector<std::string> lines = lines_of(read_text(folder / "trace"));
  const auto begin =
      std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("write(1, \"begin"); });
  REQUIRE(lines.end() - begin > 1);
  CHECK_MESSAGE(begin[1].starts_with("write(1, \"end"), begin[1]);
}

// Every fifth of the models, and the last one, a Transformer.
std::vector<StepModel> some_models() {
  std::vector<StepModel> some;
  const std::vector<StepModel> all = step_models();
  for (size_t k = 0; k < all.size(); k += 5) some.push_back(all[k]);
  some.push_back(all.back());
  return some;
}

void check_compiler(const Files& files, const std::string& words) {
  if (!is_there(words.substr(0, words.find(' ')))) return;
  CAPTURE(words);
  files.shell(fmt::format("{} {} program.{} -o program -lm && ./program in out", words, warnings,
                          words.find("++") != words.npos ? "cpp" : "c"));
  files.check_outputs();
}

}  // namespace

TEST_CASE("a header gives the layers' values, in C99 and C++, by gcc and clang, without a warning") {
  check_compiler(Files(step_models()), "gcc -std=c99");
  const Files files(some_models());
  for (const char* compiler : {"clang -std=c99", "g++ -std=c++11", "clang++ -std=c++20"})
    check_compiler(files, compiler);
}

TEST_CASE("-Ofast gives the layers' values to rounding") {
  const Files files(some_models());
  for (const char* compiler : {"gcc", "clang"}) {
    if (!is_there(compiler)) continue;
    CAPTURE(compiler);
    files.shell(fmt::format("{} -std=c99 -Ofast program.c -o program -lm && ./program in out", compiler));
    // Quotients may be by a reciprocal to two units of the last place, in place of half of one.
    files.check_outputs(4);
  }
}

TEST_CASE("names of arrays that are no names in C, or those of others in the header, get names there") {
  const auto plan_of = [](const std::string& token, const std::string& given) {
    StepBuilder step(
        [](const StepWeight& weight) { return std::vector<float>(weight.shape.size() > 1 ? 4 : 2, 0.5f); });
    const StepVector x = step.input(given, 2), other = step.state("0.h", 2);
    const StepVector y = step.dense("0.weight", "words", 2, x);
    step.call("scale", 2, y);
    for (const char* name : {"scale", "product", "w_0_weight", "0_weight_scale", "y[0]"})
      step.call("add", y, {step.constant(name, {1, 1})});
    step.call("add", y, {step.dense("0.weight", "", 2, y)});  // whose results have the names of others, too
    step.copy(step.work("0_weight_sums", 2), y);
    step.read_token(token, 0, 2);
    step.loop(token_size);
    step.call("add", other, {y});
    step.end_loop();
    step.output("float", other);
    step.output("2", y);
    return step.plan();
  };
  for (const auto& [name, token, given] : {std::array{"MY_UNROLL", "while", "int"},
                                           {"unroll", "turn0", "unroll_add"},
                                           {"unroll_UNROLL", "state", "_Bool"},
                                           {"words", "turn1", "state"}})
    for (const int bits : {32, 8}) {
      CAPTURE(name);
      const Folder folder;
      write_c_header(folder / "m.h", plan_of(token, given), {.name = name, .bits = bits, .words = {"a"}});
      folder.write(
          "use.c",
          fmt::format("#include \"m.h\"\nint main(void) {{\n  {0}_state s;\n"
                      "  float x[2] = {{1, 1}}, a[2], b[2];\n  {0}_reset(&s);\n"
                      "  {0}_step(&s, 1, x, a, b);\n  return {0}_words[0][0] != 'a' || a[0] != b[0];\n}}\n",
                      name));
      for (const char* compiler : {"gcc -std=c99", "g++ -x c++"}) {
        const ProgramRun run =
            run_program("/bin/sh", {"-c", fmt::format("{} {} use.c -o use -lm && ./use", compiler, warnings)},
                        folder.path());
        CHECK_MESSAGE(run.code == 0, run.err);
      }
    }
}

TEST_CASE("valgrind and the sanitizers find nothing, and steps make no system call") {
  const Files files(some_models());
  if (is_there("valgrind")) {
    files.shell(
        "gcc -std=c99 -O1 program.c -o program -lm && valgrind -q --error-exitcode=9 ./program in out");
    files.check_outputs();
  }
  files.shell(
      "gcc -std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all program.c -o program -lm && ./program in out");
  files.shell("gcc -std=c99 -O2 program.c -o program -lm");
  files.shell(
      "gcc -std=c99 -O2 -c program.c && nm -u program.o >called && ! grep -E 'alloc|free' called");  // no memory
  check_calls(files.folder, "./program in out");
}

TEST_CASE("weights in 8 bits: within half a unit of their row's scale, in the header as in RealTimeStep") {
  const StepArray matrix{
      .name = "w", .kind = StepArray::Kind::matrix, .size = 4, .values = {1.27f, 0, -0.64f, 0}, .out = 2};
  const WholeNumbers<int8_t> small = in_whole_numbers<int8_t>(matrix);
  CHECK(small.numbers == std::vector<int8_t>{127, 0, -64, 0});
  CHECK(small.scale == std::vector<float>{1.27f / 127, 0});

  const Files files(
      {recurrent_model(CellKind::lstm, {.input = 3, .hidden = 7, .layers = 2}), token_model({.tied = true})},
      8);
  CHECK(read_text(files.folder / "m0.h").find("int8_t") != std::string::npos);
  files.shell(fmt::format("gcc -std=c99 {} program.c -o program -lm && ./program in out", warnings));
  const std::vector<Tensor> found = files.outputs();
  for (size_t k = 0; k < found.size(); ++k) {
    RealTimeStep step(files.models[k].plan, StepWeightsIn::eight_bits);
    const Tensor expected = by_steps(files.models[k], step, files.inputs[k], steps);
    const double size = std::max(1.0, largest(expected));
    CHECK(distance(found[k], expected) <= 1e-6 * size);
    const double lost = distance(expected, files.models[k].whole(files.inputs[k].x, files.inputs[k].tokens));
    CHECK(lost > 1e-5);
    CHECK(lost < 0.05 * size);  // weights are below 1/2 and lose at most 1/508 each
  }
}

TEST_CASE("the example steps through a header of its name") {
  const StepModel amp = recurrent_model(CellKind::gru, {.input = 1, .hidden = 5});
  const Folder folder;
  StepBuilder step(weights_of(*amp.params));
  const StepVector y = step.recurrent("gru", CellKind::gru, {.input = 1, .hidden = 5}, step.input("x", 1));
  step.output("y", step.dense("out.weight", "out.bias", 3, y).part(0, 1));
  write_c_header(folder / "amp.h", step.plan(),
                 {.name = c_name(folder / "amp.h"), .words = {"a\"b", "?\xc3\xa4\n"}});
  CHECK(read_text(folder / "amp.h").find("\"a\\042b\", \"\\077\\303\\244\\012\",") != std::string::npos);
  const ProgramRun run =
      run_program("/bin/sh",
                  {"-c", fmt::format("gcc -std=c99 {} -I. {} -o amp -lm && printf '0.5\\n-0.5\\n' | ./amp",
                                     warnings, (project_root() / "examples/step_in_c.c").string())},
                  folder.path());
  RealTimeStep real_time(step.plan());
  std::string expected;
  for (const float x : {0.5f, -0.5f}) {
    real_time["x"][0] = x;
    real_time();
    expected += fmt::format("{:.5f}\n", real_time["y"][0]);
  }
  std::string found;
  for (const std::string& line : lines_of(output_of(run))) found += fmt::format("{:.5f}\n", std::stod(line));
  CHECK(found == expected);
}

TEST_CASE("a program of one LSTM and a dense layer is below 300 KB, and steps without a system call") {
  const std::string program = program_named("inference");
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 1, .hidden = 16});
  const Dense out(params / "out", {.in = 16, .out = 1});
  const Folder folder;
  write_safetensors(folder / "amp.safetensors", state_dict(params));
  RealTimeStep step(step_of(params, 1, RecurrentLayer(lstm), out));
  float sum = 0;
  for (int t = 0; t < 10000; ++t) {
    step["x"][0] = static_cast<float>(t % 10) / 10 - 0.5f;
    step();
    sum += step["y"][0];
  }
  const std::vector<std::string> lines =
      lines_of(output_of(run_program(program, {"amp.safetensors", "10000"}, folder.path())));
  REQUIRE(lines.size() == 3);
  CHECK(std::stod(lines[2]) == doctest::Approx(sum));
  CHECK(std::filesystem::file_size(program) < 300'000);
  check_calls(folder, program + " amp.safetensors 10000");
}

TEST_CASE("a model that has no step is refused by its name") {
  ParameterSet params;
  const RecurrentLayer both(params / "lstm", CellKind::lstm,
                            {.input = 2, .hidden = 3, .bidirectional = true});
  const RecurrentLayer narrow(params / "gru", CellKind::gru, {.input = 2, .hidden = 3});
  CHECK(lacks(error_of([&] { step_of(params, 2, both); }), {"lstm", "backwards"}) == "");
  CHECK(lacks(error_of([&] { step_of(params, 5, narrow); }), {"gru", "2", "5"}) == "");
  const StepPlan plan = step_of(params, 2, narrow);
  CHECK(lacks(input_error_of([&] { c_header(plan, {.name = "my model"}); }), {"my model", "identifier"}) ==
        "");
  CHECK(lacks(input_error_of([&] { c_header(plan, {.name = "m", .bits = 16}); }), {"16", "32 or 8"}) == "");
  CHECK(c_name("runs/1-best.safetensors") == "model_1_best");
  params.at("gru.bias_hn_l0").var().value().on_host(Access::change)[0] =
      std::numeric_limits<real>::infinity();
  CHECK(lacks(input_error_of([&] { c_header(step_of(params, 2, narrow), {.name = "m"}); }),
              {"gru_bias_hn_l0", "finite"}) == "");
  params.at("gru.bias_hn_l0").var().value().on_host(Access::change)[0] = 0;
  params.at("gru.weight_hh_l0").var().value().on_host(Access::change)[0] = std::nanf("");
  for (const int bits : {32, 8})  // of which 8 have no NaN
    CHECK(lacks(input_error_of([&] { c_header(step_of(params, 2, narrow), {.name = "m", .bits = bits}); }),
                {"gru_weight_hh_l0", "finite"}) == "");
}

TEST_CASE("a header says which tokens a step takes") {
  const StepModel model = token_model({.tied = true});  // of 13 words
  CHECK(c_header(model.plan, {.name = "m"}).find("Requires: token in 0 ... 12.") != std::string::npos);
}
