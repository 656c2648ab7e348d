// The extension of the Python package: functions.h for Python. unroll/__init__.py is the Python side.
#include <filesystem>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "framework/check.h"
#include "packaging/python/functions.h"

namespace nb = nanobind;

NB_MODULE(_unroll, m) {
  using namespace unroll::python;
  nb::exception<unroll::Error>(m, "Error", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::filesystem::filesystem_error& error) {
      PyErr_SetString(PyExc_OSError,
                      fmt::format("{}: {}", error.path1().string(), error.code().message()).c_str());
    }
  });
  m.attr("glibc") = fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__);
  nb::class_<TextModel>(m, "TextModel").def("score", &score_text).def("look", &look_at_text);
  nb::class_<SeriesModel>(m, "SeriesModel").def("forecast", &forecast_by_model).def("look", &look_at_series);
  m.def("load", [](const std::string& path) {
    return std::visit(
        [](auto&& model) {
          using Model = std::decay_t<decltype(model)>;
          return nb::cast(new Model(std::move(model)), nb::rv_policy::take_ownership);
        },
        load(path));
  });
  m.def("forecast", &forecast_file);
}
