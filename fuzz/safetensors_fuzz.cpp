// Checkpoints: any bytes as a safetensors file. Its header, every tensor, and the model of ptb that it claims
// to hold.
#include "examples/ptb/saved_model.h"
#include "examples/ptb/torch_model.h"
#include "framework/memory.h"
#include "fuzz/target.h"
#include "training/safetensors.h"

// Of half floats a model takes four times the file, as weights and as gradients. A tensor of one number has
// at least 60 bytes of header, and twice 256 of the slabs.
static bool in_proportion(int64_t bytes, std::size_t file) {
  return bytes <= 16 * static_cast<int64_t>(file) + (1 << 16);
}

// The same bytes with the header's length put right: up to the brace that closes the first. Else a change of
// the header would nearly always end at its length.
static std::string mended(std::string bytes) {
  if (bytes.size() < 9) return bytes;
  uint64_t length = 0;
  int depth = 0;
  do depth += bytes[8 + length] == '{' ? 1 : bytes[8 + length] == '}' ? -1 : 0;
  while (8 + ++length < bytes.size() && depth > 0);
  return bytes.replace(0, 8, reinterpret_cast<const char*>(&length), 8);
}

static void read(const std::string& bytes) {
  const fuzz::File file(bytes);
  unroll::reset_peak_memory();
  fuzz::accepts([&] {
    const unroll::SafetensorsFile tensors(file.path());
    for (const auto& entry : tensors.entries())
      fuzz::accepts(
          [&] { fuzz::expect(tensors.load(entry.name).size() == entry.size(), "a tensor has its shape"); });
    ptb::read_torch_model(tensors);
  });
  fuzz::accepts([&] { ptb::load_model(file.path()); });
  fuzz::expect(in_proportion(unroll::memory_statistics().peak, bytes.size()),
               "memory in proportion to the file");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(mended(bytes));
  return 0;
}
