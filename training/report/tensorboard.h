// TensorBoard's event files: scalars by name and step, written for its scalar dashboard.
//
// A file is a sequence of records: length, data, and a checksum of each (the framing of TFRecord files, CRC-32C,
// masked). The data is a protocol buffer of type Event (tensorflow/core/util/event.proto). We write three kinds: the
// version that begins a file, scalars at a step, and the mark of a restart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "training/files/atomic_file.h"

namespace unroll {

// A figure to be drawn by step.
struct Scalar {
  std::string name;  // "train/loss": the part before the slash groups the charts
  double value = 0;  // also infinite or NaN
};

// One file of events. A run begins another where it is resumed or goes back, "events.out.tfevents.0001" and so on. TensorBoard reads
// them in the order of their names, and may read while they grow.
class EventFile {
 public:
  // Creates the next file of the folder. Throws Error if it cannot be written.
  EventFile(const std::filesystem::path& folder, double wall_time);

  // `wall_time` in seconds since 1970. Values become float. Values that are not finite are shown as such.
  void write(int64_t step, std::span<const Scalar> scalars, double wall_time);
  // Invalidates records of `step` and later, here and in earlier files: the run went back.
  void restart(int64_t step, double wall_time);

 private:
  AppendFile file_;
};

// CRC-32C (Castagnoli) of some bytes: 0xe3069283 of "123456789".
uint32_t crc32c(std::string_view bytes);

}  // namespace unroll
