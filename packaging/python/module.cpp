// The extension of the Python package: functions.h for Python. unroll/__init__.py is the Python side.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include "framework/check.h"
#include "framework/signals.h"
#include "packaging/python/functions.h"

namespace nb = nanobind;

namespace {

std::timed_mutex turns;

// A thread's turn to compute. It has no GIL meanwhile: other threads run Python, or wait for their turn. A signal ends
// what the main thread computes, and is sent again for Python's own handler, which makes KeyboardInterrupt of SIGINT.
class Turn {
 public:
  Turn() {
    while (!turn_.try_lock_for(std::chrono::milliseconds(100))) {
      const nb::gil_scoped_acquire python;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    if (gettid() == getpid()) guard_.emplace();  // Python runs handlers in the main thread only
  }
  ~Turn() {
    const int signal = guard_ ? unroll::signal_received() : 0;
    guard_.reset();
    if (signal != 0) std::raise(signal);
  }
  Turn& operator=(Turn&&) = delete;

 private:
  nb::gil_scoped_release released_;
  std::unique_lock<std::timed_mutex> turn_{turns, std::defer_lock};
  std::optional<unroll::SignalGuard> guard_;
};

template <class Result, class... Arguments>
auto in_turn(Result (*f)(Arguments...)) {
  return [f](Arguments... arguments) {
    const Turn turn;
    return f(arguments...);
  };
}

}  // namespace

NB_MODULE(_unroll, m) {
  using namespace unroll::python;
  const nb::exception<unroll::Error> error_type(m, "Error", PyExc_ValueError);
  const auto translate = [](const std::exception_ptr& thrown, void* type) {
    try {
      std::rethrow_exception(thrown);
    } catch (const unroll::Interrupted& interrupted) {  // unless the signal's handler has raised
      if (PyErr_CheckSignals() == 0) PyErr_SetString(static_cast<PyObject*>(type), interrupted.what());
    } catch (const std::filesystem::filesystem_error& error) {
      PyErr_SetString(PyExc_OSError,
                      fmt::format("{}: {}", error.path1().string(), error.code().message()).c_str());
    }
  };
  nb::register_exception_translator(translate, error_type.ptr());
  m.attr("glibc") = fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__);
  nb::class_<TextModel>(m, "TextModel")
      .def("score", in_turn(&score_text))
      .def("look", in_turn(&look_at_text));
  nb::class_<SeriesModel>(m, "SeriesModel")
      .def("forecast", in_turn(&forecast_by_model))
      .def("look", in_turn(&look_at_series));
  m.def("load", [](const std::string& path) {
    return std::visit(
        [](auto&& model) {
          using Model = std::decay_t<decltype(model)>;
          return nb::cast(new Model(std::move(model)), nb::rv_policy::take_ownership);
        },
        in_turn(&load)(path));
  });
  m.def("forecast", in_turn(&forecast_file));
}
