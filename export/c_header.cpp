#include "export/c_header.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "export/step_kernels_text.h"
#include "training/files/atomic_file.h"

namespace unroll {

namespace {

using Kind = StepArray::Kind;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Words of a text that begin with "unroll_", without that.
std::set<std::string> kernels_in(std::string_view text) {
  constexpr std::string_view prefix = "unroll_";
  std::set<std::string> names;
  for (size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at)) {
    const size_t begin = at += prefix.size();
    while (at < text.size() && is_word(text[at])) ++at;
    names.emplace(text.substr(begin, at - begin));
  }
  return names;
}

// An identifier for a name: none that begins with a digit, no word of C or C++, and none that a step names itself.
std::string identifier(std::string name) {
  constexpr std::string_view words =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return "
      "co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do "
      "double dynamic_cast else enum explicit export extern false float for friend goto if inline int linux long "
      "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
      "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct "
      "switch template this thread_local throw true try typedef typeid typename typeof union unix unsigned using "
      "virtual void volatile wchar_t while xor xor_eq _Bool NAN NULL INFINITY HUGE_VAL state turn0 turn1 ";
  std::ranges::replace_if(
      name, [](char c) { return !is_word(c); }, '_');
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "n");
  return words.find(" " + name + " ") == words.npos ? name : name + '_';
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The kernels' texts in their order, by pieces between empty lines. One calls only those before it.
std::vector<std::pair<std::string, std::string>> kernel_texts() {
  std::vector<std::pair<std::string, std::string>> result;
  const std::string_view all = step_kernels_text;
  for (size_t at = all.find("\n\n/*"); at != all.npos;) {
    const size_t end = all.find("\n\n/*", at + 2);
    const std::string_view piece = all.substr(at + 1, end == all.npos ? end : end - at);
    if (const size_t name = piece.find(" unroll_"); name != piece.npos)
      result.emplace_back(piece.substr(name + 8, piece.find('(', name) - name - 8), piece);
    at = end;
  }
  return result;
}

template <class Number>
std::string number_text(Number value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return sizeof(Number) == sizeof(float) ? text + 'f' : text;
}

template <class Range, class Text>
std::string table(const Range& numbers, Text text_of) {
  constexpr size_t most = 120;  // columns
  std::string text;
  size_t width = 0;
  for (const auto& number : numbers) {
    const std::string one = text_of(number) + ",";
    const bool fits = width + one.size() + 1 <= most;
    if (width > 0) text += fits ? ' ' : '\n';
    width = (fits ? width + 1 : 0) + one.size();
    text += one;
  }
  return text;
}

// As a text of C. Whatever is not plain ASCII is written by its number.
std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    text += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return text + '"';
}

class Writer {
 public:
  Writer(const StepPlan& plan, const CHeaderOptions& options) : plan_(plan), options_(options) {
    std::set<std::string> taken = {token_};
    for (const auto& [kernel, text] : kernel_texts()) taken.insert(options.name + "_" + kernel);
    for (const StepArray& array : plan.arrays) {
      const bool has_values = !array.values.empty() || !array.values64.empty();
      std::string name = has_values ? options.name + "_w_" : array.kind == Kind::work ? "v_" : "";
      name += identifier(array.name);
      while (!taken.insert(name).second) name += '_';
      names_.push_back(name);
    }
    for (const StepCall& call : plan.calls)
      for (const StepPlace& place : call.places) used_.insert(place.array);
  }

  std::string text() const {
    const std::string step = function();
    const std::string upper = upper_name();
    std::string out = heading() + fmt::format(
                                      "#ifndef {0}_STEP_H\n#define {0}_STEP_H\n#include <math.h>\n"
                                      "#include <stdint.h>\n#include <string.h>\n"
                                      "#if defined(__GNUC__)\n"
                                      "#define {0}_STEP static inline __attribute__((always_inline))\n"
                                      "#define {0}_RESTRICT __restrict\n#else\n"
                                      "#define {0}_STEP static inline\n#define {0}_RESTRICT\n#endif\n",
                                      upper);
    out += kernels() + weights();
    return out + state() + step + fmt::format("\n#undef {0}_STEP\n#undef {0}_RESTRICT\n#endif\n", upper);
  }

 private:
  bool is_small(const StepArray& array) const { return array.kind == Kind::matrix && options_.bits == 8; }
  const StepArray& array_of(const StepPlace& place) const {
    return plan_.arrays[static_cast<size_t>(place.array)];
  }
  std::string upper_name() const {
    std::string upper = options_.name;
    std::ranges::transform(upper, upper.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper;
  }
  std::string kernel_name(const StepCall& call) const {
    const bool small =
        std::ranges::any_of(call.places, [&](const StepPlace& p) { return is_small(array_of(p)); });
    return std::string(call.kernel) + (small ? "_8bit" : "");
  }
  static bool is_kernel(const StepCall& call) { return call.kernel != "loop" && call.kernel != "end"; }
  template <class Use>
  void each(Kind kind, Use use) const {
    for (size_t k = 0; k < plan_.arrays.size(); ++k)
      if (plan_.arrays[k].kind == kind && (kind != Kind::work || used_.contains(static_cast<int>(k))))
        use(plan_.arrays[k], names_[k]);
  }
  bool has_state() const { return plan_.numbers(Kind::state) > 0; }

  // The function's parameters, or the arguments of a call of it.
  std::string parameters() const {
    std::string list = has_state() ? fmt::format("{}_state* state", options_.name) : "";
    const auto add = [&](const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
    if (plan_.token_end > 0) add("int " + token_);
    for (const auto& one : {std::pair{Kind::input, "const float"},
                            {Kind::input64, "const double"},
                            {Kind::output, "float"},
                            {Kind::output64, "double"}})
      each(one.first, [&](const StepArray& array, const std::string& name) {
        add(fmt::format("{} {}[{}]", one.second, name, array.size));
      });
    return list;
  }

  std::string heading() const {
    std::map<int, int64_t> by_bits;
    by_bits[options_.bits] += plan_.numbers(Kind::matrix);
    by_bits[32] += plan_.numbers(Kind::constant);
    by_bits[64] += plan_.numbers(Kind::constant64);
    std::string text = fmt::format("/* {}: a step of a model, made by unroll. Its weights:", options_.name);
    for (const auto& [bits, count] : by_bits)
      if (count > 0) text += fmt::format(" {} in {} bits,", count, bits);
    text.back() = '.';
    text += fmt::format(
        "\n   The state has {} numbers, and a step takes {} bytes of the stack for others. It takes no other memory, and makes no\n"
        "   system call. Several threads may step, each with a state of its own.",
        plan_.numbers(Kind::state), 4 * plan_.numbers(Kind::work));
    if (plan_.token_end > 0)
      text += fmt::format("\n   Requires: {} in {} ... {}.", token_, plan_.first_token, plan_.token_end - 1);
    if (!options_.says.empty())
      text += "\n   " + replaced(replaced(options_.says, "*/", "* /"), "\n", "\n   ");
    return text + " */\n";
  }

  // Kernels that the plan calls, and kernels that these call.
  std::string kernels() const {
    std::set<std::string> needed;
    for (const StepCall& call : plan_.calls)
      if (is_kernel(call)) needed.insert(kernel_name(call));
    const auto texts = kernel_texts();
    std::string text;
    for (auto at = texts.rbegin(); at != texts.rend(); ++at) {
      if (!needed.contains(at->first)) continue;
      needed.merge(kernels_in(at->second));
      text.insert(0, "\n" + at->second);
    }
    // Capitals first: in them stands no "unroll_".
    return replaced(replaced(text, "UNROLL_", upper_name() + "_"), "unroll_", options_.name + "_");
  }

  std::string weights() const {
    std::string text;
    const auto require_finite = [](const std::string& name, const auto& values) {
      for (const auto v : values)
        require_input(std::isfinite(v), "a C header: {} holds a number that is not finite", name);
    };
    const auto numbers = [&]<class Number>(const std::string& name, const std::vector<Number>& values) {
      require_finite(name, values);
      text += fmt::format("\nstatic const {} {}[{}] = {{\n{}\n}};\n",
                          sizeof(Number) == sizeof(float) ? "float" : "double", name, values.size(),
                          table(values, number_text<Number>));
    };
    each(Kind::matrix, [&](const StepArray& array, const std::string& name) {
      if (!is_small(array)) return numbers(name, array.values);
      require_finite(name, array.values);
      const WholeNumbers<int8_t> small = in_whole_numbers<int8_t>(array);
      text += fmt::format("\nstatic const int8_t {}[{}] = {{\n{}\n}};\n", name, small.numbers.size(),
                          table(small.numbers, [](int8_t v) { return std::to_string(v); }));
      numbers(scale_name(name), small.scale);
    });
    each(Kind::constant,
         [&](const StepArray& array, const std::string& name) { numbers(name, array.values); });
    each(Kind::constant64,
         [&](const StepArray& array, const std::string& name) { numbers(name, array.values64); });
    if (!options_.words.empty())
      text += fmt::format("\nstatic const char* const {}_words[{}] = {{\n{}\n}};\n", options_.name,
                          options_.words.size(), table(options_.words, quoted));
    return text;
  }

  std::string state() const {
    if (!has_state()) return "";
    std::string text = "\ntypedef struct {\n", reset;
    each(Kind::state, [&](const StepArray& array, const std::string& name) {
      text += fmt::format("  float {}[{}];\n", name, array.size);
      reset += fmt::format("  for (int i = 0; i < {}; ++i) state->{}[i] = 0.0f;\n", array.size, name);
    });
    return text + fmt::format(
                      "}} {0}_state;\n\n/* Before the first step */\n"
                      "static inline void {0}_reset({0}_state* state) {{\n{1}}}\n",
                      options_.name, reset);
  }

  // NAME_s_WEIGHT for NAME_w_WEIGHT
  std::string scale_name(std::string of) const { return of[options_.name.size() + 1] = 's', of; }
  std::string place_text(const StepPlace& place) const {
    const StepArray& array = array_of(place);
    const std::string& name = names_[static_cast<size_t>(place.array)];
    std::string text = array.kind == Kind::state ? "state->" + name : name;
    const std::string scale = is_small(array) ? ", " + scale_name(name) : "";
    if (place.at) text += fmt::format(" + {}", place.at);
    for (const int loop : {0, 1})
      if (place.by_turn[loop]) text += fmt::format(" + {} * turn{}", place.by_turn[loop], loop);
    return text + scale;
  }

  std::string size_text(int size) const { return size == token_size ? token_ : std::to_string(size); }

  std::string function() const {
    std::string text = fmt::format("\nstatic inline void {}_step({}) {{\n", options_.name, parameters());
    each(Kind::work, [&](const StepArray& array, const std::string& name) {
      text += fmt::format("  float {}[{}];\n", name, array.size);
    });
    int depth = 0;
    for (const StepCall& call : plan_.calls) {
      depth -= call.kernel == "end";
      text += std::string(static_cast<size_t>(2 * depth + 2), ' ');
      if (call.kernel == "end") {
        text += "}\n";
      } else if (call.kernel == "loop") {
        text += fmt::format("for (int turn{0} = 0; turn{0} < {1}; ++turn{0}) {{\n", depth,
                            size_text(call.sizes[0]));
        ++depth;
      } else {
        std::string list;
        for (const int size : call.sizes) list += size_text(size) + ", ";
        for (const float number : call.numbers) list += number_text(number) + ", ";
        for (const StepPlace& place : call.places) list += place_text(place) + ", ";
        text +=
            fmt::format("{}_{}({});\n", options_.name, kernel_name(call), list.substr(0, list.size() - 2));
      }
    }
    return text + "}\n";
  }

  const StepPlan& plan_;
  const CHeaderOptions& options_;
  const std::string token_ = identifier(plan_.token);
  std::vector<std::string> names_;
  std::set<int> used_;  // arrays in calls
};

}  // namespace

std::string c_name(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !is_word(c); }, '_');
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "model_");
  return name;
}

std::string c_header(const StepPlan& plan, const CHeaderOptions& options) {
  const std::string& name = options.name;
  require_input(!name.empty() && std::ranges::all_of(name, is_word) &&
                    !std::isdigit(static_cast<unsigned char>(name[0])),
                "a C header's name begins those in it: '{}' is no C identifier", name);
  require_input(options.bits == 32 || options.bits == 8, "a weight in a C header has 32 or 8 bits, not {}",
                options.bits);
  return Writer(plan, options).text();
}

void write_c_header(const std::filesystem::path& path, const StepPlan& plan, const CHeaderOptions& options) {
  write_file_atomically(path, c_header(plan, options));
}

}  // namespace unroll
