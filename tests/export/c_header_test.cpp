// C headers as their users have them: compiled as C99 and as C++ by two compilers with all warnings, run, and compared with the
// layers' values.
#include "export/c_header.h"

#include "tests/export/step_models.h"
#include "tests/program.h"

using namespace unroll;

namespace {

constexpr int steps = 200;
constexpr const char* warnings = "-O2 -Wall -Wextra -Wconversion -Werror -pedantic";

// A program that steps through all models: it reads their inputs from one file, and writes their outputs to another. Between
// the two lines that it prints, it only steps.
std::string program_of(const std::vector<StepModel>& models) {
  std::string text = "#include <stdio.h>\n", calls;
  for (size_t k = 0; k < models.size(); ++k) {
    const StepModel& m = models[k];
    const bool state = m.plan.numbers(StepArray::Kind::state) > 0;
    text += fmt::format("#include \"m{0}.h\"\nstatic float x{0}[{1}], y{0}[{2}];\n", k, steps * std::max(1, m.inputs),
                        steps * m.outputs());
    calls += fmt::format("  for (int t = 0; t < {1}; ++t) m{0}_step({2}{3}, y{0} + t * {4});\n", k, steps,
                         state ? fmt::format("&state{}, ", k) : "",
                         m.vocab > 0 ? fmt::format("(int)x{}[t]", k) : fmt::format("x{} + t * {}", k, m.inputs), m.outputs());
    if (!state) continue;
    text += fmt::format("static m{0}_state state{0};\n", k);
    calls.insert(0, fmt::format("  m{0}_reset(&state{0});\n", k));
  }
  text += "int main(int count, char** words) {\n  if (count < 3) return 1;\n  FILE* file = fopen(words[1], \"rb\");\n"
          "  if (!file) return 1;\n";
  for (size_t k = 0; k < models.size(); ++k)
    text += fmt::format("  if (fread(x{0}, sizeof x{0}, 1, file) != 1) return 1;\n", k);
  text += "  fclose(file);\n  puts(\"begin\"), fflush(stdout);\n" + calls +
          "  puts(\"end\"), fflush(stdout);\n  file = fopen(words[2], \"wb\");\n  if (!file) return 1;\n";
  for (size_t k = 0; k < models.size(); ++k) text += fmt::format("  fwrite(y{0}, sizeof y{0}, 1, file);\n", k);
  return text + "  return fclose(file) != 0;\n}\n";
}

struct Files {
  Folder folder;
  std::vector<StepModel> models;
  std::vector<StepInputs> inputs;

  explicit Files(std::vector<StepModel> of, int bits = 32) : models(std::move(of)) {
    std::string bytes;
    for (size_t k = 0; k < models.size(); ++k) {
      write_c_header(folder / fmt::format("m{}.h", k), models[k].plan, {.name = fmt::format("m{}", k), .bits = bits});
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
  void check_outputs() const {
    const std::vector<Tensor> found = outputs();
    for (size_t k = 0; k < models.size(); ++k) {
      CAPTURE(models[k].name);
      const Tensor expected = models[k].whole(inputs[k].x, inputs[k].tokens);
      CHECK(distance(found[k], expected) <= 1e-6 * std::max(1.0, largest(expected)));
    }
  }
};

bool is_there(const std::string& program) {
  const Folder folder;
  const bool found = run_program("/bin/sh", {"-c", "command -v " + program}, folder.path()).code == 0;
  if (!found) MESSAGE(program, " is not there: left out");
  return found;
}

}  // namespace

TEST_CASE("a header gives the layers' values, in C99 and C++, by gcc and clang, without a warning") {
  const Files files(step_models());
  for (const char* compiler : {"gcc -std=c99", "clang -std=c99", "g++ -std=c++11", "clang++ -std=c++20"}) {
    const std::string words = compiler;
    if (!is_there(words.substr(0, words.find(' ')))) continue;
    CAPTURE(compiler);
    files.shell(fmt::format("{} {} program.{} -o program -lm && ./program in out", compiler, warnings,
                            words.find("++") != words.npos ? "cpp" : "c"));
    files.check_outputs();
  }
}

TEST_CASE("valgrind and the sanitizers find nothing, and steps make no system call") {
  const Files files(step_models());
  if (is_there("valgrind")) {
    files.shell("gcc -std=c99 -O1 -g program.c -o program -lm && valgrind -q --error-exitcode=9 ./program in out");
    files.check_outputs();
  }
  files.shell("gcc -std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all program.c -o program -lm && ./program in out");
  files.shell("gcc -std=c99 -O2 program.c -o program -lm");
  if (is_there("strace -o trace true &&")) {
    files.shell("strace -o trace ./program in out");
    const std::vector<std::string> lines = lines_of(read_text(files.folder / "trace"));
    const auto begin = std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("write(1, \"begin"); });
    REQUIRE(lines.end() - begin > 1);
    CHECK_MESSAGE(begin[1].starts_with("write(1, \"end"), begin[1]);
  }
}
