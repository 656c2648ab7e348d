// The rows that trained a model's weights: their times, and the range of their values. This stands in the model's file and
// goes with the weights. From it come two warnings: of rows that trained, and of values far outside of those that did.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"
#include "training/files/safetensors.h"

namespace timeseries {

using namespace unroll;

struct TrainedOn {
  // The times of the first and the last row, or their numbers if rows have no times; and a fingerprint of the first row's
  // values, which tells numbered rows of another series. Empty: not known, as of imported models and earlier versions'.
  std::string from = {}, to = {}, first_row = {};
  std::vector<double> least = {}, most = {};  // by channel, but for the calendar's; empty: not known
  // With several series in one file, the last row of each that trained, by the series' name.
  std::map<std::string, std::string> ends = {};

  // Adds rows that train, too. A fact that is not known stays so.
  void add(const Series& series, const Part& train);
  // The first row of a series that is after its last one that trained. None: not known, or one has dates and the other none. With
  // several series in one file, the row of the one that is asked for; if that did not train, its first.
  std::optional<int64_t> first_after(const Series& series, int member = 0) const;
  // A warning that rows of a part lie where the model trained; none: they do not, or nothing is known.
  std::optional<std::string> warning_of(const Series& series, const Part& part,
                                        const std::string& name) const;
};
TrainedOn trained_on(const Series& series, const Part& train);

// As it stands in a model's file. Throws InputError beginning with the path: no times or no numbers.
Metadata metadata_of(const TrainedOn& trained);
TrainedOn trained_on(const Metadata& metadata, size_t channels, const std::string& path);
std::vector<std::string> trained_on_keys();

// Looks for values far outside of the rows that trained: ten times their range below the least or above the most. For a
// channel that was constant there its scale stands for the range.
class FarOutside {
 public:
  FarOutside(const TrainedOn& trained, const Scaling& scaling) : trained_(trained), scaling_(scaling) {}

  void look(double value, int channel, int64_t row);
  // At all values of rows [begin, end) of those channels.
  void look(const Series& series, int64_t begin, int64_t end, const std::set<int>& channels);
  // A warning that names the furthest value; none: no value was far outside. training: of a range of most rows that train.
  enum Of { inputs, forecasts, training };
  std::optional<std::string> warning(const Series& series, Of of) const;

 private:
  const TrainedOn& trained_;
  const Scaling& scaling_;
  double furthest_ = 10, value_ = 0;  // in ranges beyond the nearer end
  int channel_ = -1;
  int64_t row_ = 0, count_ = 0;
};

// Warnings of values that train and lie far outside of the others: they set scale and loss, and the forecast becomes flat.
std::vector<std::string> warnings_of_outliers(const Series& series, const Part& train);

// A hash of numbers, in hexadecimal digits.
std::string fingerprint(std::span<const std::byte> bytes);

}  // namespace timeseries
